// Where each member that the source declares is used, by Roslyn's word: what `corpus usages` is held against.
//
//     usages REFERENCES SYMBOL,SYMBOL DIR > roslyn_usages.tsv
//
// One line for each place: path from DIR and line, the name, and the member as `Namespace.Outer+Inner.Name`, with the number
// of its parameters behind a method. Where Roslyn itself cannot tell, since a library is missing, every member that it
// considers has a line of its own, marked with `?`. Does not know constructors, indexers and operators: they are used without their names.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

static class Usages
{
    static int Main(string[] args)
    {
        var root = Path.GetFullPath(args[2]);
        var options = CSharpParseOptions.Default.WithLanguageVersion(LanguageVersion.Preview)
            .WithPreprocessorSymbols(args[1].Split(new[] { ',' }, StringSplitOptions.RemoveEmptyEntries));
        var trees = Directory.EnumerateFiles(root, "*.cs", SearchOption.AllDirectories)
            .Select(file => CSharpSyntaxTree.ParseText(File.ReadAllText(file), options, file)).ToList();
        var libraries = Directory.EnumerateFiles(args[0], "*.dll").Select(file => MetadataReference.CreateFromFile(file));
        var whole = CSharpCompilation.Create("whole", trees, libraries,
            new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary, allowUnsafe: true));
        var lines = new SortedSet<string>(StringComparer.Ordinal);
        foreach (var tree in trees)
        {
            var model = whole.GetSemanticModel(tree);
            foreach (var name in tree.GetRoot().DescendantNodes().OfType<SimpleNameSyntax>())
            {
                var place = Path.GetRelativePath(root, tree.FilePath) + ":"
                    + (tree.GetLineSpan(name.Span).StartLinePosition.Line + 1) + "\t" + name.Identifier.ValueText + "\t";
                foreach (var member in Told(model.GetSymbolInfo(name))) lines.Add(place + member);
            }
        }
        using (var output = new StreamWriter(Console.OpenStandardOutput()))
            foreach (var line in lines) output.WriteLine(line);
        return 0;
    }

    static IEnumerable<string> Told(SymbolInfo info)
    {
        var sure = info.Symbol != null || info.CandidateSymbols.Length == 1;
        var symbols = info.Symbol != null ? new[] { info.Symbol } : info.CandidateSymbols.ToArray();
        foreach (var symbol in symbols.Select(Declared).Where(IsOurs)) yield return (sure ? "" : "?") + Id(symbol);
    }

    // An extension method that is called like a member is the static method.
    static ISymbol Declared(ISymbol symbol) =>
        symbol is IMethodSymbol method && method.ReducedFrom != null ? method.ReducedFrom.OriginalDefinition : symbol.OriginalDefinition;

    static bool IsOurs(ISymbol symbol)
    {
        if (symbol.ContainingType == null || !symbol.Locations.Any(place => place.IsInSource)) return false;
        if (symbol is IMethodSymbol method)
            return method.MethodKind == MethodKind.Ordinary && !method.IsImplicitlyDeclared;
        return symbol is IPropertySymbol || symbol is IFieldSymbol || symbol is IEventSymbol;
    }

    static string Id(ISymbol symbol) =>
        Id(symbol.ContainingType) + "." + symbol.Name + (symbol is IMethodSymbol method ? "(" + method.Parameters.Length + ")" : "");

    static string Id(INamedTypeSymbol type)
    {
        type = type.OriginalDefinition;
        var space = type.ContainingNamespace;
        var outer = type.ContainingType != null ? Id(type.ContainingType) + "+"
            : space == null || space.IsGlobalNamespace ? "" : space.ToDisplayString() + ".";
        return outer + type.Name + (type.Arity > 0 ? "`" + type.Arity : "");
    }
}
