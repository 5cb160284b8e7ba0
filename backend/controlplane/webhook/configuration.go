package webhook

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"reflect"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// checkPeriod is how often the webhook configurations are looked at.
const checkPeriod = 30 * time.Second

// configuration is one configuration of either kind.
type configuration struct {
	mutates   *admissionregistrationv1.MutatingWebhookConfiguration
	validates *admissionregistrationv1.ValidatingWebhookConfiguration
}

func (c *configuration) mutating() bool { return c.mutates != nil }

// clients are the client configurations of all webhooks in it.
func (c *configuration) clients() []*admissionregistrationv1.WebhookClientConfig {
	var all []*admissionregistrationv1.WebhookClientConfig
	if c.mutating() {
		for i := range c.mutates.Webhooks {
			all = append(all, &c.mutates.Webhooks[i].ClientConfig)
		}
		return all
	}
	for i := range c.validates.Webhooks {
		all = append(all, &c.validates.Webhooks[i].ClientConfig)
	}
	return all
}

func (c *configuration) paths() []string {
	var paths []string
	for _, client := range c.clients() {
		paths = append(paths, *client.Service.Path)
	}
	return paths
}

// read reads the configurations in files: YAML documents of either kind,
// whose webhooks name no more of their service than the path.
func read(files fs.FS) ([]*configuration, error) {
	if files == nil {
		return nil, nil
	}
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list webhook configurations: %w", err)
	}
	var all []*configuration
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read webhook configurations %s: %w", name, err)
		}
		decoder := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			document, err := decoder.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("read webhook configurations %s: %w", name, err)
			}
			one, err := readOne(document)
			if err != nil {
				return nil, fmt.Errorf("read webhook configurations %s: %w", name, err)
			}
			if one != nil {
				all = append(all, one)
			}
		}
	}
	return all, nil
}

func readOne(document []byte) (*configuration, error) {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return nil, err
	}
	one := &configuration{}
	switch kind.Kind {
	case "":
		return nil, nil
	case "MutatingWebhookConfiguration":
		one.mutates = &admissionregistrationv1.MutatingWebhookConfiguration{}
		if err := yaml.UnmarshalStrict(document, one.mutates); err != nil {
			return nil, err
		}
	case "ValidatingWebhookConfiguration":
		one.validates = &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := yaml.UnmarshalStrict(document, one.validates); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%s is no webhook configuration", kind.Kind)
	}
	for _, client := range one.clients() {
		if client.Service == nil || client.Service.Path == nil {
			return nil, errors.New("a webhook without a path")
		}
	}
	return one, nil
}

// aim points a configuration at the server.
func (o Options) aim(one *configuration, namespace string, bundle []byte) error {
	for _, client := range one.clients() {
		path := *client.Service.Path
		client.CABundle = bundle
		if o.ServiceName != "" {
			client.Service = &admissionregistrationv1.ServiceReference{
				Namespace: namespace, Name: o.ServiceName, Path: &path, Port: ptr.To(o.ServicePort),
			}
			continue
		}
		at, err := url.JoinPath(o.URL, path)
		if err != nil {
			return fmt.Errorf("build the webhooks' url: %w", err)
		}
		client.Service, client.URL = nil, &at
	}
	return nil
}

// Keep writes the configurations, with namespace as that of the Service, and puts
// back what is changed in them until ctx ends. A refusal ends it too.
func (s *Server) Keep(ctx context.Context, client kubernetes.Interface, namespace string) error {
	ticker := time.NewTicker(checkPeriod)
	defer ticker.Stop()
	for {
		if err := s.write(ctx, client, namespace); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if apierrors.IsForbidden(err) {
				return err
			}
			slog.Warn("webhook configurations could not be written", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (s *Server) write(ctx context.Context, client kubernetes.Interface, namespace string) error {
	configurations, err := read(s.options.Configurations)
	if err != nil {
		return err
	}
	bundle, err := s.bundle()
	if err != nil {
		return err
	}
	for _, one := range configurations {
		if err := s.options.aim(one, namespace, bundle); err != nil {
			return err
		}
		if one.mutating() {
			err = writeMutating(ctx, client, one.mutates)
		} else {
			err = writeValidating(ctx, client, one.validates)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeMutating(ctx context.Context, client kubernetes.Interface, wanted *admissionregistrationv1.MutatingWebhookConfiguration) error {
	configurations := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	current, err := configurations.Get(ctx, wanted.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = configurations.Create(ctx, wanted, metav1.CreateOptions{})
	} else if err == nil && !reflect.DeepEqual(current.Webhooks, wanted.Webhooks) {
		current.Webhooks = wanted.Webhooks
		_, err = configurations.Update(ctx, current, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write webhook configuration %s: %w", wanted.Name, err)
	}
	return nil
}

func writeValidating(ctx context.Context, client kubernetes.Interface, wanted *admissionregistrationv1.ValidatingWebhookConfiguration) error {
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	current, err := configurations.Get(ctx, wanted.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = configurations.Create(ctx, wanted, metav1.CreateOptions{})
	} else if err == nil && !reflect.DeepEqual(current.Webhooks, wanted.Webhooks) {
		current.Webhooks = wanted.Webhooks
		_, err = configurations.Update(ctx, current, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write webhook configuration %s: %w", wanted.Name, err)
	}
	return nil
}
