package main

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func unhex(text string) []byte {
	data, err := hex.DecodeString(text)
	check(err)
	return data
}

// live prints what so many lives took together and each, in milliseconds.
func live(lives, workers, brokers int, requests ...[]byte) {
	each := make([]float64, lives)
	next := make(chan int)
	var group sync.WaitGroup
	started := time.Now()
	for range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for number := range next {
				began := time.Now()
				oneLife(brokers, requests)
				each[number] = milliseconds(time.Since(began))
			}
		}()
	}
	for number := range lives {
		next <- number
	}
	close(next)
	group.Wait()
	whole := milliseconds(time.Since(started))
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{"whole_ms": whole, "each_ms": each}))
}

func milliseconds(taken time.Duration) float64 { return float64(taken) / float64(time.Millisecond) }

func oneLife(brokers int, requests [][]byte) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(1, "t"))
	check(err)
	defer cluster.Close()
	connection, err := net.Dial("tcp", cluster.ListenAddrs()[cluster.LeaderFor("t", 0)])
	check(err)
	defer connection.Close()
	for _, request := range requests {
		_, err = connection.Write(request)
		check(err)
		var size [4]byte
		_, err = io.ReadFull(connection, size[:])
		check(err)
		_, err = io.CopyN(io.Discard, connection, int64(binary.BigEndian.Uint32(size[:])))
		check(err)
	}
}
