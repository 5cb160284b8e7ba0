// Command web is the lab's example workload and its probe from inside a pod:
//
//	web                 answers on :8080 and logs each request
//	web get URL         fetches a URL, without checking its certificate
//	web whoami          asks the API server who the mounted service account is
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	if len(os.Args) == 1 {
		serve()
	}
	var err error
	switch command := os.Args[1]; {
	case command == "get" && len(os.Args) == 3:
		err = fetch(&tls.Config{InsecureSkipVerify: true}, "GET", os.Args[2], "", nil)
	case command == "whoami":
		err = whoami()
	default:
		log.Fatal("usage: web [get URL | whoami]")
	}
	if err != nil {
		log.Fatal(err)
	}
}

func serve() {
	host, _ := os.Hostname()
	log.Println("listening on :8080 as", host)
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		log.Println(r.Method, r.URL.Path, r.RemoteAddr)
		fmt.Fprintln(w, "hello from", host)
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}

func whoami() error {
	const account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	url := "https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")) +
		"/apis/authentication.k8s.io/v1/selfsubjectreviews"
	return fetch(&tls.Config{RootCAs: roots}, "POST", url, `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`,
		http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + string(token)}})
}

// fetch prints the status and the body of an answer.
func fetch(config *tls.Config, method, url, body string, header http.Header) error {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: config}}
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	if header != nil {
		req.Header = header
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}
