// A kfake cluster in a process of its own, for the benchmarks: prints its addresses as one line of JSON and serves until
// its standard input ends, so that it dies with whoever started it.
package main

import (
	"encoding/json"
	"flag"
	"io"
	"os"
	"runtime/debug"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	brokers := flag.Int("brokers", 3, "number of brokers")
	flag.Parse()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(*brokers), kfake.AllowAutoTopicCreation())
	if err != nil {
		panic(err)
	}
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/twmb/franz-go/pkg/kfake" {
				version = module.Version
			}
		}
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"addresses": cluster.ListenAddrs(), "version": version})
	io.Copy(io.Discard, os.Stdin)
	cluster.Close()
}
