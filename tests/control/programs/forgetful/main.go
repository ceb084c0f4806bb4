// Starts a broker and forgets Stop; "end": the program is over then, "wait": it is killed.
package main

import (
	"fmt"
	"log"
	"os"
	"runtime"

	"story/fakebroker"
)

func main() {
	if _, err := fakebroker.Start("--topic", "t"); err != nil {
		log.Fatal(err)
	}
	runtime.GC()
	fmt.Println("started")
	if os.Args[1] == "wait" {
		select {}
	}
}
