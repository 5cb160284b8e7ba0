package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// newMember is a member that lives in this process: well, of one node, without
// claims. Nothing ever changes in it.
func newMember(version string) *rest.Config {
	return &rest.Config{Host: memberHost, Transport: member{version}}
}

// memberHost tells requests to members from those to the hub.
const memberHost = "http://member.invalid"

// member answers requests to one.
type member struct{ version string }

// RoundTrip implements http.RoundTripper.
func (m member) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	switch {
	case r.URL.Path == "/livez":
		return answer(r, http.StatusOK, "ok"), nil
	case r.URL.Path == "/version":
		return answer(r, http.StatusOK, fmt.Sprintf(`{"major":"1","minor":"36","gitVersion":%q}`, m.version)), nil
	case r.URL.Query().Get("sendInitialEvents") != "": // lists do, too
		return answer(r, http.StatusBadRequest, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400}`), nil
	case r.URL.Query().Get("watch") != "":
		return silence(r), nil
	case strings.HasSuffix(r.URL.Path, "/nodes"):
		return answer(r, http.StatusOK, nodes), nil
	}
	return answer(r, http.StatusOK, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`), nil
}

const nodes = `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"kind":"Node","apiVersion":"v1",` +
	`"metadata":{"name":"node-1","resourceVersion":"1"},"status":{"capacity":{"cpu":"64","memory":"256Gi","pods":"110"},` +
	`"allocatable":{"cpu":"63","memory":"250Gi","pods":"110"}}}]}`

func answer(r *http.Request, code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewBufferString(body)), ContentLength: int64(len(body)),
	}
}

// silence is a watch that tells nothing for as long as it is open.
func silence(r *http.Request) *http.Response {
	response := answer(r, http.StatusOK, "")
	reader, writer := io.Pipe()
	ctx := r.Context()
	go func() {
		<-ctx.Done()
		_ = writer.CloseWithError(ctx.Err()) // always nil
	}()
	response.Body, response.ContentLength = reader, -1
	return response
}
