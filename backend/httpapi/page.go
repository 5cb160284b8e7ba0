package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/fault"
)

// Limits of one page of a list, in rows.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// Page is one page of a list. Next is the cursor of the following page, empty
// at the end; Total counts all pages. Epoch and Seq say which live message the
// page already holds.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" validate:"optional"`
	Total int    `json:"total"`
	Epoch string `json:"epoch"`
	Seq   uint64 `json:"seq"`
}

// Limit reads the limit parameter, between 1 and MaxLimit rows.
func Limit(c *gin.Context) (int, error) {
	text := c.Query("limit")
	if text == "" {
		return DefaultLimit, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > MaxLimit {
		return 0, fault.Invalid("limit must be a number from 1 to %d", MaxLimit).WithField("limit", "out of range")
	}
	return limit, nil
}

// Values splits a parameter that may be given several times or with commas.
func Values(c *gin.Context, name string) []string {
	var list []string
	for _, text := range c.QueryArray(name) {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

// EncodeCursor makes an opaque cursor of any JSON value.
func EncodeCursor(position any) string {
	data, err := json.Marshal(position)
	if err != nil {
		panic(err) // a programmer's error: positions are plain structs
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// DecodeCursor reads a cursor that EncodeCursor made; an empty one leaves into
// as it is.
func DecodeCursor(cursor string, into any) error {
	if cursor == "" {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fault.Invalid("the cursor is not one of ours").WithField("cursor", "unreadable").WithFix("start again without a cursor")
	}
	return nil
}
