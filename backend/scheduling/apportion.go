package scheduling

import (
	"hash/fnv"
	"math/bits"
)

// share is one party of an apportionment.
type share struct {
	row    *row
	weight int64
	seats  int32
}

// apportion gives out total seats by the rule of Webster and Sainte-Laguë: each
// goes to the party with the highest weight/(2·seats+1). A tie goes to the party
// with fewer seats, then to the first name, or to the last if descending. Shares
// of weight zero get nothing; total must be zero if there are no others.
func apportion(total int32, shares []share, descending bool) {
	left := int64(total) - headStart(total, shares)
	queue := make([]*share, 0, len(shares))
	for i := range shares {
		if shares[i].weight > 0 {
			queue = append(queue, &shares[i])
		}
	}
	if len(queue) == 0 {
		return
	}
	for i := len(queue)/2 - 1; i >= 0; i-- {
		sink(queue, i, descending)
	}
	for ; left > 0; left-- {
		queue[0].seats++
		sink(queue, 0, descending)
	}
}

// headStart gives out the seats that are certain, so that the rest takes about
// as many steps as there are parties however many seats there are. Seat h of a
// party has the rank weight/(2h+1). Seats ranked above sum/(2·total-parties) are
// at most total in number, hence all of them are given.
func headStart(total int32, shares []share) int64 {
	sum := uint64(0)
	for i := range shares {
		next, overflow := bits.Add64(sum, uint64(max(shares[i].weight, 0)), 0)
		if overflow != 0 {
			return 0
		}
		sum = next
	}
	spare := 2*int64(total) - int64(len(shares))
	if sum == 0 || spare <= 0 {
		return 0
	}
	given := int64(0)
	for i := range shares {
		high, low := bits.Mul64(uint64(max(shares[i].weight, 0)), uint64(spare))
		quotient, _ := bits.Div64(high, low, sum) // weight ≤ sum, hence below spare
		shares[i].seats = int32(quotient / 2)
		given += int64(shares[i].seats)
	}
	return given
}

// before says whether the next seat goes to a rather than to b.
func before(a, b *share, descending bool) bool {
	aHigh, aLow := bits.Mul64(uint64(a.weight), uint64(2*int64(b.seats)+1))
	bHigh, bLow := bits.Mul64(uint64(b.weight), uint64(2*int64(a.seats)+1))
	switch {
	case aHigh != bHigh:
		return aHigh > bHigh
	case aLow != bLow:
		return aLow > bLow
	case a.seats != b.seats:
		return a.seats < b.seats
	}
	return a.row.at < b.row.at != descending
}

// sink restores the order of the heap below a position.
func sink(queue []*share, at int, descending bool) {
	for {
		child := 2*at + 1
		if child >= len(queue) {
			return
		}
		if child+1 < len(queue) && before(queue[child+1], queue[child], descending) {
			child++
		}
		if !before(queue[child], queue[at], descending) {
			return
		}
		queue[at], queue[child] = queue[child], queue[at]
		at = child
	}
}

// tiesDescend says by which name a tie is decided for a template: half of all
// templates favour the first, half the last, so that odd replicas spread out.
func tiesDescend(templateUID string) bool {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(templateUID))
	return hash.Sum32()%2 == 1
}
