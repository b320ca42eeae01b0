// Package store keeps nodes.
//
// In memory.
package store

import (
	"fmt"
	"io"
	js "encoding/json"
	. "example.com/kit/units"
	"example.com/kit/graph/v2"
)

// Node is one of many. It has a name.
type Node[T any] struct {
	Base
	*graph.Vertex
	// Name is shown.
	Name, label string `json:"name"`
	next        *Node[T]
	value       T
}

// Walker visits nodes.
type Walker interface {
	fmt.Stringer
	// Walk goes on until an error.
	Walk(from *Node[int], depth int) (seen int, err error)
}

type (
	// ID is a number.
	ID   int
	Hook func(n ID) error
)

type Alias = graph.Vertex

const (
	// First is the first.
	First ID = iota
	Second
	hidden = "x"
)

// Default is used by all.
var Default, other = New[int]("a"), 2

// Walk implements Walker.
func (n *Node[T]) Walk(from *Node[int], depth int) (seen int, err error) {
	type local struct{}
	fmt.Println(js.Valid(nil), Base{}, io.EOF)
	return 0, nil
}

// A stray comment.

func (n Node[T]) size() int { return 1 }

// New makes one.
func New[T any](name string, hooks ...Hook) *Node[T] {
	return &Node[T]{Name: name}
}
