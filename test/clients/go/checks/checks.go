// Package checks is how the programs beside it say what worked: a line for each thing, and status 1 at the first that did not.
package checks

import (
	"fmt"
	"os"
	"reflect"
)

// Same fails unless both values are deeply equal.
func Same(what string, actual, wanted any) {
	if !reflect.DeepEqual(actual, wanted) {
		Fail(what, fmt.Errorf("got %v, want %v", actual, wanted))
	}
}

// Expect fails unless something is so; the error is shown with it.
func Expect(what string, isSo bool, err error) {
	if !isSo {
		Fail(what, fmt.Errorf("not so: %v", err))
	}
}

// NoError fails on an error.
func NoError(what string, err error) {
	if err != nil {
		Fail(what, err)
	}
}

// Done says that something worked.
func Done(what string) { fmt.Println("ok:", what) }

// Fail ends the program.
func Fail(what string, err error) {
	fmt.Fprintf(os.Stderr, "failed: %s: %v\n", what, err)
	os.Exit(1)
}
