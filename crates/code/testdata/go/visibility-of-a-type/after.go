// Package counts counts.
package counts

import "fmt"

// Counter counts things.
type Counter struct {
	Base
	// Total is how many.
	Total int `json:"total"`
	step  int
}

// Add adds one.
func (c *Counter) Add(by int) int {
	sum := c.Total + by
	c.grow(sum, []string{"a", "b"})
	return sum
}

// grows, and more

func (c *Counter) grow(to int, names []string) {
	goal := to
	c.Total = goal
}

// Sized has a size.
type sized interface {
	Size() int
}

const Limit = 10

const (
	First = iota
	Second
)

// Make makes one.
func Make(step int) *Counter {
	return &Counter{}
}

func hidden() string { return fmt.Sprint(1) }
