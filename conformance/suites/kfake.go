// kfake in a process of its own, with the settings of franz-go's own CI: prints its addresses, one a line, then an empty
// line, and serves until its standard input ends.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	settings := map[string]string{"group.consumer.heartbeat.interval.ms": "1000"}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.BrokerConfigs(settings))
	if err != nil {
		panic(err)
	}
	for _, address := range cluster.ListenAddrs() {
		fmt.Println(address)
	}
	fmt.Println()
	io.Copy(io.Discard, os.Stdin)
	cluster.Close()
}
