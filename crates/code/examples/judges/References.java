// Lists references as javac resolves them: `java References.java SYMBOLS TREE`.
//
// Knows neither how usages were found nor how the two are compared. Libraries are not on the class path: an expression whose type
// needs one is not resolved, and counts for neither side.

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.ImportTree;
import com.sun.source.tree.MemberReferenceTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ModifiersTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import javax.lang.model.element.Element;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

public class References {
  static final Map<Element, Set<String>> references = new HashMap<>();
  static final Map<String, Element> declared = new HashMap<>();

  public static void main(String[] args) throws IOException {
    Path root = Path.of(args[1]).toRealPath();
    List<Path> files;
    try (Stream<Path> all = Files.walk(root)) {
      files = all.filter(it -> it.toString().endsWith(".java") && !it.endsWith("module-info.java")).sorted().toList();
    }
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
    List<String> options = List.of("-proc:none", "-nowarn", "-XDshould-stop.ifError=FLOW");
    JavacTask task = (JavacTask) compiler.getTask(null, manager, it -> {}, options, null, manager.getJavaFileObjectsFromPaths(files));
    Iterable<? extends CompilationUnitTree> units = task.parse();
    task.analyze();
    Trees trees = Trees.instance(task);
    for (CompilationUnitTree unit : units) new Visitor(trees, unit, root).scan(unit, null);
    for (String row : Files.readAllLines(Path.of(args[0]))) print(row.split("\t"));
  }

  static void print(String[] symbol) {
    Element of = declared.get(symbol[1] + ":" + symbol[2] + ":" + symbol[4]);
    if (of == null) return;
    Set<String> lines = references.getOrDefault(of, Set.of(""));
    for (String line : lines) System.out.println(symbol[0] + "\t" + line);
  }

  static class Visitor extends TreePathScanner<Void, Void> {
    final Trees trees;
    final CompilationUnitTree unit;
    final SourcePositions positions;
    final String file;
    final String text;

    Visitor(Trees trees, CompilationUnitTree unit, Path root) throws IOException {
      this.trees = trees;
      this.unit = unit;
      this.positions = trees.getSourcePositions();
      this.file = root.relativize(Path.of(unit.getSourceFile().toUri())).toString();
      this.text = unit.getSourceFile().getCharContent(true).toString();
    }

    // The compiler adds names that are not written, such as `value` in an annotation.
    void refer(Element of, CharSequence name, long at) {
      if (of == null || at < 0 || !text.startsWith(name.toString(), (int) at)) return;
      references.computeIfAbsent(of, it -> new TreeSet<>()).add(file + ":" + unit.getLineMap().getLineNumber(at));
    }

    long end(Tree tree) {
      return tree == null ? -1 : positions.getEndPosition(unit, tree);
    }

    void declare(CharSequence name, Tree tree, ModifiersTree modifiers, Tree type) {
      long from = Math.max(Math.max(positions.getStartPosition(unit, tree), end(modifiers)), end(type));
      java.util.regex.Matcher word = java.util.regex.Pattern.compile("\\b" + java.util.regex.Pattern.quote(name.toString()) + "\\b").matcher(text);
      Element of = trees.getElement(getCurrentPath());
      if (of == null || from < 0 || !word.find((int) from)) return;
      declared.put(file + ":" + unit.getLineMap().getLineNumber(word.start()) + ":" + name, of);
    }

    @Override
    public Void visitClass(ClassTree tree, Void none) {
      declare(tree.getSimpleName(), tree, tree.getModifiers(), null);
      return super.visitClass(tree, none);
    }

    @Override
    public Void visitMethod(MethodTree tree, Void none) {
      declare(tree.getName(), tree, tree.getModifiers(), tree.getReturnType());
      return super.visitMethod(tree, none);
    }

    @Override
    public Void visitVariable(VariableTree tree, Void none) {
      declare(tree.getName(), tree, tree.getModifiers(), tree.getType());
      return super.visitVariable(tree, none);
    }

    @Override
    public Void visitIdentifier(IdentifierTree tree, Void none) {
      refer(trees.getElement(getCurrentPath()), tree.getName(), positions.getStartPosition(unit, tree));
      return null;
    }

    @Override
    public Void visitMemberSelect(MemberSelectTree tree, Void none) {
      refer(trees.getElement(getCurrentPath()), tree.getIdentifier(), end(tree) - tree.getIdentifier().length());
      return super.visitMemberSelect(tree, none);
    }

    @Override
    public Void visitMemberReference(MemberReferenceTree tree, Void none) {
      refer(trees.getElement(getCurrentPath()), tree.getName(), end(tree) - tree.getName().length());
      return super.visitMemberReference(tree, none);
    }

    @Override
    public Void visitImport(ImportTree tree, Void none) {
      if (tree.isStatic() && tree.getQualifiedIdentifier() instanceof MemberSelectTree name) {
        Element owner = trees.getElement(new TreePath(new TreePath(getCurrentPath(), name), name.getExpression()));
        if (owner != null) {
          for (Element member : owner.getEnclosedElements()) {
            if (member.getSimpleName().contentEquals(name.getIdentifier())) refer(member, name.getIdentifier(), end(name) - name.getIdentifier().length());
          }
        }
      }
      return super.visitImport(tree, none);
    }
  }
}
