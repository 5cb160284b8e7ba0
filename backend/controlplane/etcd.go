package controlplane

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

const (
	// socketPathLimit is what Linux accepts for a unix socket's path, in bytes.
	socketPathLimit = 107
	// storageQuota is etcd's size limit, in bytes; beyond it writes are refused.
	storageQuota   = 8 << 30
	etcdStartLimit = time.Minute
	// A start reads all of the write-ahead log, also what has been in the database
	// for long. etcd's own settings keep up to 320 MB of it, for members that lag
	// behind, of which there are none here: a second of CPU at each start.
	logSegment    = 8 << 20 // bytes
	logFiles      = 2
	snapshotEvery = 2000 // writes
	snapshotTail  = 100  // writes that stay in memory after that
)

// storage is the embedded etcd, reached over a unix socket in a private
// directory, so that no other user of the machine can.
type storage struct {
	server   *embed.Etcd
	endpoint string
	socket   string
}

// StoredBytes is how much the plane in a process with this data directory has
// stored, in bytes; 0 if nobody knows.
func StoredBytes(dataDir string) int64 {
	info, err := os.Stat(filepath.Join(dataDir, "etcd", "member", "snap", "db"))
	if err != nil {
		return 0
	}
	return info.Size()
}

func startStorage(ctx context.Context, dataDir string) (*storage, error) {
	socket, err := socketPath(dataDir)
	if err != nil {
		return nil, err
	}
	config := embed.NewConfig()
	config.Dir = filepath.Join(dataDir, "etcd")
	// A file of its own: etcd calls a closed listener an error at each stop.
	config.LogLevel, config.LogOutputs = "warn", []string{filepath.Join(dataDir, "etcd.log")}
	config.QuotaBackendBytes = storageQuota
	wal.SegmentSizeBytes = logSegment
	config.MaxWalFiles, config.MaxSnapFiles = logFiles, logFiles
	config.SnapshotCount, config.SnapshotCatchUpEntries = snapshotEvery, snapshotTail
	// One member: there are no peers to wait for.
	config.TickMs, config.ElectionMs = 10, 100
	// Advertised addresses must be host:port although nobody dials them.
	advertised := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config.ListenClientUrls = []url.URL{{Scheme: "unix", Path: socket}}
	config.AdvertiseClientUrls = []url.URL{advertised}
	config.ListenPeerUrls, config.AdvertisePeerUrls = nil, []url.URL{advertised}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return nil, fmt.Errorf("start storage in %s: %w", config.Dir, err)
	}
	s := &storage{server: server, endpoint: "unix://" + socket, socket: socket}
	select {
	case <-server.Server.ReadyNotify():
		return s, nil
	case err = <-server.Err():
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(etcdStartLimit):
		err = fmt.Errorf("not ready after %s", etcdStartLimit)
	}
	s.close()
	return nil, fmt.Errorf("start storage in %s: %w", config.Dir, err)
}

func (s *storage) close() {
	s.server.Close()
	_ = os.Remove(s.socket)
}

// socketPath is a path in dataDir, or in a private temporary directory when
// dataDir is too deep for a unix socket.
func socketPath(dataDir string) (string, error) {
	dir, err := filepath.Abs(dataDir)
	if err != nil {
		return "", fmt.Errorf("find data directory: %w", err)
	}
	socket := filepath.Join(dir, "etcd.sock")
	if len(socket) > socketPathLimit {
		if dir, err = os.MkdirTemp("", "muster-"); err != nil {
			return "", fmt.Errorf("create socket directory: %w", err)
		}
		socket = filepath.Join(dir, "etcd.sock")
	}
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("remove the last run's socket: %w", err)
	}
	return socket, nil
}
