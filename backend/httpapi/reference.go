package httpapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

//go:embed reference.html.tmpl
var referenceTemplate string

// swagger is the part of a Swagger 2.0 document that the reference shows.
type swagger struct {
	Info struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Version     string `json:"version"`
	} `json:"info"`
	BasePath    string                          `json:"basePath"`
	Paths       map[string]map[string]operation `json:"paths"`
	Definitions map[string]schema               `json:"definitions"`
}

type operation struct {
	ID          string              `json:"operationId"`
	Summary     string              `json:"summary"`
	Description string              `json:"description"`
	Tags        []string            `json:"tags"`
	Parameters  []parameter         `json:"parameters"`
	Responses   map[string]response `json:"responses"`
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Type        string  `json:"type"`
	Enum        []any   `json:"enum"`
	Items       *schema `json:"items"`
	Schema      *schema `json:"schema"`
}

// Kind names the parameter's type.
func (p parameter) Kind() string {
	switch {
	case p.Schema != nil:
		return p.Schema.String()
	case p.Type == "array":
		return p.Items.String() + "[]"
	}
	return p.Type
}

// Values are the values a parameter may have; empty: any.
func (p parameter) Values() string { return join(p.Enum) }

func join(values []any) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = fmt.Sprint(value)
	}
	return strings.Join(texts, ", ")
}

type response struct {
	Description string  `json:"description"`
	Schema      *schema `json:"schema"`
}

type schema struct {
	Ref         string            `json:"$ref"`
	Type        string            `json:"type"`
	Description string            `json:"description"`
	Enum        []any             `json:"enum"`
	Items       *schema           `json:"items"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
	AllOf       []schema          `json:"allOf"`
	Additional  json.RawMessage   `json:"additionalProperties"`
}

// String names the schema's type.
func (s *schema) String() string {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, "#/definitions/")
	case s.Type == "array":
		return s.Items.String() + "[]"
	case len(s.AllOf) > 0:
		return s.AllOf[0].String()
	case s.Type == "object" && len(s.Additional) > 0:
		var values schema
		if json.Unmarshal(s.Additional, &values) == nil && values.String() != "object" {
			return "object of " + values.String()
		}
		return "object"
	case s.Type == "":
		return "object"
	default:
		return s.Type
	}
}

// reference renders the OpenAPI document on the server, so that it needs no
// script and no further origin.
type reference struct {
	raw  []byte
	page *template.Template
	view view
}

type view struct {
	Title, Description, Version string
	Tags                        []tagView
	Schemas                     []schemaView
	Nonce                       string
}

type tagView struct {
	Name       string
	Operations []operationView
}

type operationView struct {
	operation
	Method, Path, Curl string
	Answers            []answerView
}

type answerView struct{ Status, Description, Schema string }

type schemaView struct {
	Name   string
	Fields []fieldView
}

type fieldView struct {
	Name, Type, Values, Description string
	Optional                        bool
}

// anchor is where a type is described on the page; empty for a basic one.
func anchor(kind string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(kind, "object of "), "[]")
	if !strings.Contains(name, ".") {
		return ""
	}
	return "#schema-" + name
}

func newReference(document []byte) (*reference, error) {
	var parsed swagger
	if err := json.Unmarshal(document, &parsed); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	page, err := template.New("reference").Funcs(template.FuncMap{"anchor": anchor}).Parse(referenceTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse the reference page: %w", err)
	}
	return &reference{raw: document, page: page, view: view{
		Title: parsed.Info.Title, Description: parsed.Info.Description, Version: parsed.Info.Version,
		Tags: tagsOf(parsed), Schemas: schemasOf(parsed),
	}}, nil
}

func tagsOf(document swagger) []tagView {
	byTag := map[string][]operationView{}
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(document.Paths[path])) {
			shown := operationView{operation: document.Paths[path][method], Method: strings.ToUpper(method), Path: document.BasePath + path}
			for _, status := range slices.Sorted(maps.Keys(shown.Responses)) {
				answer := shown.Responses[status]
				shown.Answers = append(shown.Answers, answerView{Status: status, Description: answer.Description, Schema: answer.Schema.String()})
			}
			shown.Curl = curl(shown)
			tag := "other"
			if len(shown.Tags) > 0 {
				tag = shown.Tags[0]
			}
			byTag[tag] = append(byTag[tag], shown)
		}
	}
	var tags []tagView
	for _, name := range slices.Sorted(maps.Keys(byTag)) {
		tags = append(tags, tagView{Name: name, Operations: byTag[name]})
	}
	return tags
}

func curl(shown operationView) string {
	text := "curl --cacert ca.crt -b cookies.txt "
	if shown.Method != http.MethodGet {
		text += "-X " + shown.Method + " -H 'Content-Type: application/json' -H 'X-CSRF-Token: …' -H 'Sec-Fetch-Site: same-origin' "
	}
	if slices.ContainsFunc(shown.Parameters, func(p parameter) bool { return p.In == "body" }) {
		text += "-d @body.json "
	}
	return text + "https://HUB:8443" + shown.Path
}

func schemasOf(document swagger) []schemaView {
	var schemas []schemaView
	for _, name := range slices.Sorted(maps.Keys(document.Definitions)) {
		definition := document.Definitions[name]
		shown := schemaView{Name: name}
		for _, field := range slices.Sorted(maps.Keys(definition.Properties)) {
			property := definition.Properties[field]
			shown.Fields = append(shown.Fields, fieldView{
				Name: field, Type: property.String(), Values: join(property.Enum), Description: property.Description,
				Optional: !slices.Contains(definition.Required, field),
			})
		}
		schemas = append(schemas, shown)
	}
	return schemas
}

func (r *reference) serve(c *gin.Context) {
	shown := r.view
	shown.Nonce = nonce(c.Request.Context())
	var page bytes.Buffer
	if err := r.page.Execute(&page, shown); err != nil {
		Abort(c, fmt.Errorf("render the reference: %w", err))
		return
	}
	c.Data(http.StatusOK, "text/html; charset=utf-8", page.Bytes())
}

func (r *reference) document(c *gin.Context) { c.Data(http.StatusOK, "application/json", r.raw) }
