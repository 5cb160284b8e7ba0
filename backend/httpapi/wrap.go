package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/fault"
)

// BodyLimit is the most a JSON body may have, in bytes.
const BodyLimit = 1 << 20

// Wrap turns a handler that returns an error into gin's kind. The error becomes
// a Problem with its true status.
func Wrap(handler func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := handler(c); err != nil {
			Abort(c, err)
		}
	}
}

// Bind reads the JSON body into into. Unknown fields, trailing data and bodies
// over BodyLimit are refused with a fault that names the place.
func Bind(c *gin.Context, into any) error {
	decoder := json.NewDecoder(c.Request.Body) // limitBody bounds it
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return bindFault(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fault.Invalid("the body holds more than one JSON value").WithFix("send one object")
	}
	return nil
}

func bindFault(err error) error {
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return err
	case errors.Is(err, io.EOF):
		return fault.Invalid("the body is empty").WithFix("send a JSON object")
	case errors.As(err, &wrongType):
		return fault.Invalid("the field %s must be a %s", wrongType.Field, wrongType.Type).WithField(wrongType.Field, "must be a "+wrongType.Type.String())
	case errors.As(err, &syntax):
		return fault.Invalid("the body is not JSON: error at byte %d", syntax.Offset)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		name := strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`)
		return fault.Invalid("the field %s is not known here", name).WithField(name, "is not known")
	default:
		return fault.Invalid("the body could not be read").Wrap(err)
	}
}
