// Lists references as go/types resolves them: `go run references.go SYMBOLS TREE`.
//
// Knows neither how usages were found nor how the two are compared. Other modules are not loaded: an expression whose type needs
// one is not resolved, and counts for neither side.

package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

type checker struct {
	root, module string
	files        *token.FileSet
	parsed       map[string]*ast.File
	known        map[string]*types.Package
	standard     types.Importer
	references   map[token.Pos]map[string]bool
	declared     map[string]token.Pos
}

func main() {
	root, err := filepath.EvalSymlinks(os.Args[2])
	if err != nil {
		panic(err)
	}
	set := token.NewFileSet()
	check := &checker{
		root: root, module: moduleName(root), files: set,
		parsed: map[string]*ast.File{}, known: map[string]*types.Package{},
		standard:   importer.ForCompiler(set, "source", nil),
		references: map[token.Pos]map[string]bool{}, declared: map[string]token.Pos{},
	}
	filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			check.folder(at)
		}
		return nil
	})
	check.print(os.Args[1])
}

func moduleName(root string) string {
	text, _ := os.ReadFile(filepath.Join(root, "go.mod"))
	for _, line := range strings.Split(string(text), "\n") {
		if name, found := strings.CutPrefix(line, "module "); found {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// folder checks the package of a folder, its tests inside, and its tests outside.
func (c *checker) folder(at string) {
	found, _ := build.Default.ImportDir(at, 0)
	if found == nil {
		return
	}
	inside := append(append([]string{}, found.GoFiles...), found.TestGoFiles...)
	c.check(at, c.importPath(at), inside)
	c.check(at, c.importPath(at)+"_test", found.XTestGoFiles)
}

func (c *checker) importPath(at string) string {
	relative, _ := filepath.Rel(c.root, at)
	return path.Join(c.module, filepath.ToSlash(relative))
}

func (c *checker) check(at, name string, files []string) *types.Package {
	var trees []*ast.File
	for _, file := range files {
		full := filepath.Join(at, file)
		if c.parsed[full] == nil {
			c.parsed[full], _ = parser.ParseFile(c.files, full, nil, parser.SkipObjectResolution)
		}
		if c.parsed[full] != nil {
			trees = append(trees, c.parsed[full])
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: c, Error: func(error) {}, FakeImportC: true}
	found, _ := config.Check(name, c.files, trees, info)
	for word, object := range info.Uses {
		if c.references[object.Pos()] == nil {
			c.references[object.Pos()] = map[string]bool{}
		}
		c.references[object.Pos()][c.place(word.Pos())] = true
	}
	for word, object := range info.Defs {
		if object != nil {
			c.declared[c.place(word.Pos())+":"+word.Name] = object.Pos()
		}
	}
	return found
}

func (c *checker) place(at token.Pos) string {
	position := c.files.Position(at)
	relative, _ := filepath.Rel(c.root, position.Filename)
	return fmt.Sprintf("%s:%d", filepath.ToSlash(relative), position.Line)
}

// Import loads a package of the module or of the standard library; any other is empty.
func (c *checker) Import(name string) (*types.Package, error) {
	if known := c.known[name]; known != nil {
		return known, nil
	}
	var found *types.Package
	if inner, is := strings.CutPrefix(name, c.module); is && (inner == "" || inner[0] == '/') {
		at := filepath.Join(c.root, inner)
		if package_, err := build.Default.ImportDir(at, 0); err == nil {
			found = c.check(at, name, package_.GoFiles)
		}
	} else if !strings.Contains(strings.Split(name, "/")[0], ".") {
		found, _ = c.standard.Import(name)
	}
	if found == nil {
		found = types.NewPackage(name, path.Base(name))
		found.MarkComplete()
	}
	c.known[name] = found
	return found, nil
}

func (c *checker) print(symbols string) {
	file, err := os.Open(symbols)
	if err != nil {
		panic(err)
	}
	rows := bufio.NewScanner(file)
	for rows.Scan() {
		row := strings.Split(rows.Text(), "\t")
		at, found := c.declared[row[1]+":"+row[2]+":"+row[4]]
		if !found {
			continue
		}
		lines := []string{}
		for line := range c.references[at] {
			lines = append(lines, line)
		}
		sort.Strings(lines)
		if len(lines) == 0 {
			lines = append(lines, "")
		}
		for _, line := range lines {
			fmt.Printf("%s\t%s\n", row[0], line)
		}
	}
}
