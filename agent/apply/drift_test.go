package apply_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/agent/apply/membertest"
	"muster.dev/muster/backend/agentapi"
)

// within is how soon drift has to be repaired.
const within = 5 * time.Second

// driftBench is a worker whose member holds one ConfigMap as the hub wants it, in a
// bubble: the clock stands while anybody has something to do.
func driftBench(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := startWorkerOf(t, membertest.NewInBubble(t))
		b.begin(false)
		b.deliver(work(t, "shop", shop), 7)
		b.deliver(work(t, "settings", settings), 8)
		b.await("applied", func(a *agentapi.Ack) bool { return a.Name == "settings" && applied(a) })
		synctest.Wait()
		b.member.Writes()
		test(b)
	})
}

func (b *bench) value() string {
	b.Helper()
	o := b.member.Get("ConfigMap", "shop", "settings")
	if o == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(o.Object, "data", "k")
	return value
}

// spoil changes the object as somebody in the member would.
func (b *bench) spoil() {
	b.Helper()
	o := b.member.Get("ConfigMap", "shop", "settings")
	_ = unstructured.SetNestedField(o.Object, "pink", "data", "k")
	b.member.Put(o)
}

// TestDriftIsRepairedOnTheWatchsWord: an object that was changed or deleted in the
// member is as it should be when nothing but a word of the watch has come; no
// timer lies between. Without that word nobody repairs anything, however long.
func TestDriftIsRepairedOnTheWatchsWord(t *testing.T) {
	for name, drift := range map[string]func(b *bench){
		"changed": func(b *bench) { b.spoil() },
		"deleted": func(b *bench) { b.member.Remove("ConfigMap", "shop", "settings") },
	} {
		t.Run(name, func(t *testing.T) {
			driftBench(t, func(b *bench) {
				for round := range 20 { // none waits for longer than the one before
					before := time.Now()
					drift(b)
					synctest.Wait()
					if got, took := b.value(), time.Since(before); got != "v" || took != 0 {
						b.Fatalf("round %d: the member has %q after %s", round, got, took)
					}
				}
				release := b.member.HoldWatches()
				b.member.Writes()
				drift(b)
				<-time.After(time.Hour)
				synctest.Wait()
				if writes := b.member.Writes(); len(writes) > 0 {
					b.Errorf("repaired without a word of the watch: %v", writes)
				}
				before := time.Now()
				release()
				synctest.Wait()
				if got, took := b.value(), time.Since(before); got != "v" || took != 0 {
					b.Errorf("the member has %q %s after the watch's word", got, took)
				}
			})
		})
	}
}

// TestDriftIsRepairedInTimeAfterTrouble: what a broken watch did not tell, or a
// member refused to take, is repaired in time too.
func TestDriftIsRepairedInTimeAfterTrouble(t *testing.T) {
	for name, drift := range map[string]func(b *bench){
		"the watch broke":           func(b *bench) { b.member.Cut(); b.spoil() },
		"the member refused thrice": func(b *bench) { b.refuseWrites(3); b.spoil() },
	} {
		t.Run(name, func(t *testing.T) {
			driftBench(t, func(b *bench) {
				drift(b)
				for begin := time.Now(); b.value() != "v"; {
					if time.Since(begin) > within {
						b.Fatalf("the member has %q after %s", b.value(), time.Since(begin))
					}
					<-time.After(10 * time.Millisecond) // of the bubble's time
				}
			})
		})
	}
}

// refuseWrites lets the member answer so many writes with an error.
func (b *bench) refuseWrites(count int) {
	b.member.Refuse(func(r *http.Request) int {
		if r.Method == http.MethodGet || count == 0 {
			return 0
		}
		count--
		return http.StatusInternalServerError
	})
}
