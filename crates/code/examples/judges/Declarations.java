// Lists the declarations of Java files as javac parses them: `java Declarations.java ROWS`.
//
// A row is a number and the path of a file; a line of the output is one declaration as JSON. Knows neither how Loci reads a file nor
// how the two are compared.

import com.sun.source.tree.AnnotationTree;
import com.sun.source.tree.BlockTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ModifiersTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import javax.lang.model.element.Modifier;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

public class Declarations {
  /// Modifiers that describe the implementation.
  static final List<Modifier> IMPLEMENTATION = List.of(Modifier.SYNCHRONIZED, Modifier.NATIVE, Modifier.STRICTFP);

  /// Annotations that no other code can rely on.
  static final List<String> FOR_THE_COMPILER = List.of("Override", "SuppressWarnings", "Generated");

  public static void main(String[] args) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
    for (String row : Files.readAllLines(Path.of(args[0]))) {
      String[] words = row.split("\t");
      boolean[] broken = {false};
      JavacTask task =
          (JavacTask) compiler.getTask(null, manager, it -> broken[0] = true, List.of("-proc:none", "-XDallowStringFolding=false"), null, manager.getJavaFileObjects(words[1]));
      Iterable<? extends CompilationUnitTree> units = task.parse();
      if (broken[0]) {
        System.out.println("{\"file\": " + words[0] + ", \"unreadable\": true}");
        continue;
      }
      DocTrees docs = DocTrees.instance(task);
      for (CompilationUnitTree unit : units) {
        for (Tree type : unit.getTypeDecls()) {
          if (type instanceof ClassTree it) new Reader(words[0], docs).readType(it, "", new TreePath(new TreePath(unit), it), false);
        }
      }
    }
  }

  record Reader(String file, DocTrees docs) {
    void readType(ClassTree type, String owner, TreePath path, boolean inInterface) {
      String name = type.getSimpleName().toString();
      if (name.isEmpty()) return;
      ModifiersTree modifiers = type.getModifiers();
      String bases = type.getKind() + " " + type.getTypeParameters() + " " + type.getExtendsClause() + " " + type.getImplementsClause();
      print(owner, name, "type", visibility(modifiers, inInterface), contract(modifiers) + bases, "", path);
      String inner = owner.isEmpty() ? name : owner + "." + name;
      boolean isInterface = type.getKind() == Tree.Kind.INTERFACE || type.getKind() == Tree.Kind.ANNOTATION_TYPE;
      for (Tree member : type.getMembers()) {
        TreePath at = new TreePath(path, member);
        if (member instanceof ClassTree it) readType(it, inner, at, isInterface);
        else if (member instanceof MethodTree it) readMethod(it, inner, at, isInterface);
        else if (member instanceof VariableTree it) readField(it, inner, at, isInterface);
      }
    }

    void readMethod(MethodTree method, String owner, TreePath path, boolean inInterface) {
      if (docs.getSourcePositions().getEndPosition(path.getCompilationUnit(), method) < 0) return;
      StringBuilder structure = new StringBuilder(contract(method.getModifiers()));
      structure.append(method.getTypeParameters()).append(method.getReturnType()).append(method.getThrows()).append(method.getDefaultValue());
      StringBuilder behaviour = new StringBuilder();
      for (VariableTree each : method.getParameters()) {
        structure.append(" | ").append(each.getModifiers().getAnnotations()).append(each.getType());
        behaviour.append(each.getName()).append(each.getModifiers().getFlags()).append(" ");
      }
      for (Modifier each : IMPLEMENTATION) if (method.getModifiers().getFlags().contains(each)) behaviour.append(each);
      BlockTree body = method.getBody();
      behaviour.append(body == null ? "" : body.toString());
      String name = method.getName().contentEquals("<init>") ? owner.substring(owner.lastIndexOf('.') + 1) : method.getName().toString();
      print(owner, name, "function", visibility(method.getModifiers(), inInterface), structure.toString(), behaviour.toString(), path);
    }

    void readField(VariableTree field, String owner, TreePath path, boolean inInterface) {
      ExpressionTree value = field.getInitializer();
      String type = contract(field.getModifiers()) + field.getType();
      print(owner, field.getName().toString(), "field", visibility(field.getModifiers(), inInterface), type, value == null ? "" : value.toString(), path);
    }

    static String contract(ModifiersTree modifiers) {
      TreeSet<Modifier> flags = new TreeSet<>(modifiers.getFlags());
      IMPLEMENTATION.forEach(flags::remove);
      List<String> annotations = new ArrayList<>();
      for (AnnotationTree each : modifiers.getAnnotations()) {
        if (!FOR_THE_COMPILER.contains(each.getAnnotationType().toString())) annotations.add(each.toString());
      }
      return annotations + " " + flags + " ";
    }

    static String visibility(ModifiersTree modifiers, boolean inInterface) {
      var flags = modifiers.getFlags();
      if (flags.contains(Modifier.PRIVATE)) return "private";
      return flags.contains(Modifier.PUBLIC) || flags.contains(Modifier.PROTECTED) || inInterface ? "public" : "internal";
    }

    void print(String owner, String name, String kind, String visibility, String structure, String behaviour, TreePath path) {
      String doc = docs.getDocComment(path);
      System.out.println(
          "{\"file\": " + file + text("owner", owner) + text("name", name) + text("kind", kind) + text("visibility", visibility)
              + text("structure", structure) + text("behaviour", behaviour) + text("doc", doc == null ? "" : doc) + "}");
    }

    static String text(String name, String value) {
      StringBuilder out = new StringBuilder(", \"" + name + "\": \"");
      for (char each : value.toCharArray()) {
        if (each == '"' || each == '\\') out.append('\\').append(each);
        else if (each < ' ') out.append(String.format("\\u%04x", (int) each));
        else out.append(each);
      }
      return out.append('"').toString();
    }
  }
}
