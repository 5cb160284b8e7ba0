package override

import (
	"regexp"
	"strings"

	"github.com/distribution/reference"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

var (
	tagForm    = regexp.MustCompile(`^` + reference.TagRegexp.String() + `$`)
	digestForm = regexp.MustCompile(`^` + reference.DigestRegexp.String() + `$`)
)

// image is an image reference in parts. An image with a tag has no digest.
type image struct {
	registry, repository, tag, digest string
}

// parseImage takes an image reference apart. The first part of the path is a
// registry only if it looks like a host: the rule of docker, stricter than the
// grammar. Of tag and digest the tag stays.
func parseImage(text string) (image, bool) {
	parts := reference.ReferenceRegexp.FindStringSubmatch(text)
	if parts == nil {
		return image{}, false
	}
	parsed := image{repository: parts[1], tag: parts[2]}
	if parsed.tag == "" {
		parsed.digest = parts[3]
	}
	if first, rest, found := strings.Cut(parts[1], "/"); found && (strings.ContainsAny(first, ".:") || first == "localhost") {
		parsed.registry, parsed.repository = first, rest
	}
	return parsed, true
}

// String is the reference the parts make.
func (i image) String() string {
	text := i.repository
	if i.registry != "" {
		text = i.registry + "/" + i.repository
	}
	switch {
	case i.tag != "":
		return text + ":" + i.tag
	case i.digest != "":
		return text + "@" + i.digest
	}
	return text
}

// override changes one component: add appends, replace sets, remove empties. It
// tells whether it knows component and operator.
func (i image) override(component policyv1alpha1.ImageComponent, operator policyv1alpha1.OverriderOperator, value string) (image, bool) {
	part := &i.tag
	switch component {
	case policyv1alpha1.Registry:
		part = &i.registry
	case policyv1alpha1.Repository:
		part = &i.repository
	case policyv1alpha1.Tag:
		if operator == policyv1alpha1.OverriderOpReplace {
			return i.retag(value), true
		}
		if i.digest != "" {
			part = &i.digest
		}
	default:
		return i, false
	}
	switch operator {
	case policyv1alpha1.OverriderOpAdd:
		*part += value
	case policyv1alpha1.OverriderOpReplace:
		*part = value
	case policyv1alpha1.OverriderOpRemove:
		*part = ""
	default:
		return i, false
	}
	return i, true
}

// retag sets the tag, or the digest if the value has the form of one. A value of
// neither form changes nothing.
func (i image) retag(value string) image {
	switch {
	case tagForm.MatchString(value):
		i.tag, i.digest = value, ""
	case digestForm.MatchString(value):
		i.tag, i.digest = "", value
	}
	return i
}

// applyImage overrides the image its predicate points at, or else the images of
// all containers of a kind that has pods.
func (e *editor) applyImage(o *policyv1alpha1.ImageOverrider) error {
	if o.Predicate != nil {
		return e.applyImageAt(o.Predicate.Path, o)
	}
	containers, at, err := e.containers()
	if err != nil {
		return err
	}
	for i, container := range containers {
		before, found := container["image"]
		if !found {
			continue // filled in by the member, or refused there
		}
		path := at.index(i).key("image").String()
		after, err := e.overrideImage(path, before, o)
		if err != nil {
			return err
		}
		container["image"] = after
		e.changed(path, before, after)
	}
	return nil
}

func (e *editor) applyImageAt(path string, o *policyv1alpha1.ImageOverrider) error {
	at, err := e.pointer(path)
	if err != nil {
		return err
	}
	before, found := lookup(e.object.Object, at)
	if !found {
		return e.refuse(path, "let predicate.path point at the image of the object, for example /spec/containers/0/image, or leave predicate out to mean all containers",
			"there is nothing at %s of %s", path, e.object.GetKind())
	}
	after, err := e.overrideImage(path, before, o)
	if err != nil {
		return err
	}
	if !assign(e.object.Object, at, after) {
		return e.refuse(path, "let predicate.path point at a string", "%s cannot be set", path)
	}
	e.changed(path, before, after)
	return nil
}

// overrideImage gives the image that takes the place of a value.
func (e *editor) overrideImage(path string, value any, o *policyv1alpha1.ImageOverrider) (string, error) {
	text, ok := value.(string)
	if !ok {
		return "", e.refuse(path, "let predicate.path point at a string", "%s holds no string", path)
	}
	parsed, ok := parseImage(text)
	if !ok {
		return "", e.refuse(path, "write the image as [registry/]repository[:tag|@digest] with a repository in lower case", "%s holds %s, which is no image reference", path, e.shown(text))
	}
	changed, ok := parsed.override(o.Component, o.Operator, o.Value)
	if !ok {
		return "", e.refuse(path, "use one of Registry, Repository and Tag, and one of add, remove and replace", "there is no %s of the component %q", o.Operator, o.Component)
	}
	return changed.String(), nil
}
