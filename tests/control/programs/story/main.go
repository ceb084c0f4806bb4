// What each helper can do, against a cluster with a manual clock that runs already. The test produces when it is told to.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"story/fakebroker"
)

type M = fakebroker.M

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must(is bool, what ...any) {
	if !is {
		panic(fmt.Sprint(what...))
	}
}

func main() {
	kafka, err := fakebroker.Connect(os.Args[1], "")
	check(err)
	check(kafka.CreateTopic("t", M{"replication_factor": 3}))
	check(kafka.Freeze("t"))
	fmt.Println("frozen")
	check(kafka.WaitForParked(M{"api": "Produce", "topic": "t"}))
	passed, isThere, err := kafka.AdvanceToNextDeadline()
	check(err)
	must(isThere && passed == 30*time.Second, passed)
	check(kafka.Expect(M{"topic": "t", "error": "REQUEST_TIMED_OUT", "count": 1}))
	err = kafka.Expect(M{"topic": "t", "error": "NONE"})
	must(strings.HasPrefix(err.Error(), "expected at least 1 answered NONE, found 0 of 1"), err)
	var refused *fakebroker.Error
	must(errors.As(kafka.CreateTopic("t", nil), &refused) && refused.Code == "TOPIC_ALREADY_EXISTS", refused)
	check(kafka.Advance(5 * time.Millisecond))
	clock, err := kafka.Ask("GET", "/clock", nil)
	check(err)
	must(clock["elapsed_ms"] == 30_005.0, clock)
	check(kafka.MoveLeader("t", 0, 2))
	check(kafka.Broker(3, "stop"))
	check(kafka.Broker(3, "start"))

	lost, err := kafka.Fault(M{"when": M{"api": "Produce", "at": "after_append"}, "do": "disconnect"})
	check(err)
	barrier, err := kafka.Hold(M{"api": "Produce"})
	check(err)
	fmt.Println("held")
	check(barrier.Wait(M{"held": 1}))
	check(barrier.Release())
	check(lost.Wait(M{"hits": 1}))
	check(lost.Remove())
	check(barrier.Remove())

	other, err := kafka.NewCluster(M{"brokers": 1, "topics": []M{{"name": "mine"}}})
	check(err)
	must(other.BootstrapServers != kafka.BootstrapServers)
	check(other.DeleteTopic("mine"))
	check(other.Stop())

	check(kafka.Reset())
	cluster, err := kafka.Ask("GET", "/cluster", nil)
	check(err)
	must(cluster["topics"] == 0.0, cluster)

	own, err := fakebroker.Start("--topic", "mine")
	check(err)
	_, err = own.Ask("GET", "/topics/mine", nil)
	check(err)
	check(own.Stop())
	_, err = fakebroker.Start("--brokers", "0")
	must(strings.Contains(err.Error(), "exit status 2: fakebroker: --brokers"), err)
	fmt.Println("done")
}
