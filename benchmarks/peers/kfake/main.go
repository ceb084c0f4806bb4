// A kfake cluster in a process of its own, for the benchmarks: prints its addresses as one line of JSON and serves until
// its standard input ends, so that it dies with whoever started it. With -lives it is many clusters, one for each test, and
// prints what they took.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"io"
	"os"
	"runtime/debug"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	brokers := flag.Int("brokers", 3, "number of brokers")
	lives := flag.Int("lives", 0, "number of clusters that live for one produce and one fetch each")
	workers := flag.Int("workers", 1, "how many of them at a time")
	produce := flag.String("produce", "", "the frame of the produce request, in hex")
	fetch := flag.String("fetch", "", "the frame of the fetch request, in hex")
	cert := flag.String("cert", "", "file of the certificate of listeners with TLS; in plain text without it")
	key := flag.String("key", "", "file of its key")
	flag.Parse()
	if *lives > 0 {
		live(*lives, *workers, *brokers, unhex(*produce), unhex(*fetch))
		return
	}
	options := []kfake.Opt{kfake.NumBrokers(*brokers), kfake.AllowAutoTopicCreation()}
	if *cert != "" {
		pair, err := tls.LoadX509KeyPair(*cert, *key)
		if err != nil {
			panic(err)
		}
		options = append(options, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}))
	}
	cluster, err := kfake.NewCluster(options...)
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
