package registry

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// filled sets every field that a value has, however deep, to something of its own,
// so that a field that is added to the API is in the tests that use it.
func filled[T any](t *testing.T) *T {
	t.Helper()
	value := new(T)
	n := 0
	fill(t, reflect.ValueOf(value).Elem(), &n)
	return value
}

func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch known := v.Addr().Interface().(type) {
	case *metav1.Time:
		*known = metav1.Unix(int64(*n)*int64(time.Hour/time.Second), 0)
		return
	case *resource.Quantity:
		*known = *resource.NewQuantity(int64(*n), resource.DecimalSI)
		return
	case *runtime.RawExtension:
		known.Raw = fmt.Appendf(nil, `{"n":%d}`, *n)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, n)
		fill(t, value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(fmt.Sprintf("s%d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	default:
		t.Fatalf("no value for a field of kind %s", v.Kind())
	}
}

// A client of v1alpha1 that writes what it has read changes nothing, whatever the
// binding says.
func TestWritingBackWhatWasRead(t *testing.T) {
	for name, stored := range map[string]*workv1alpha2.ResourceBinding{
		"all":                           {Spec: *filled[workv1alpha2.ResourceBindingSpec](t), Status: *filled[workv1alpha2.ResourceBindingStatus](t)},
		"empty":                         {},
		"requirements without requests": {Spec: workv1alpha2.ResourceBindingSpec{ReplicaRequirements: &workv1alpha2.ReplicaRequirements{}}},
	} {
		t.Run(name, func(t *testing.T) {
			stored.ResourceVersion = "7"
			whole := stored.DeepCopy()
			shown, told := &workv1alpha1.ResourceBinding{}, &workv1alpha2.ResourceBinding{}
			if err := Scheme.Convert(stored, shown, nil); err != nil {
				t.Fatal(err)
			}
			if err := Scheme.Convert(shown.DeepCopy(), told, nil); err != nil {
				t.Fatal(err)
			}
			keepSpec(&told.Spec, stored.Spec.DeepCopy())
			keepStatus(&told.Status, stored.Status.DeepCopy())
			if diff := cmp.Diff(whole, told); diff != "" {
				t.Errorf("(-stored +written):\n%s", diff)
			}
			if diff := cmp.Diff(whole, stored); diff != "" {
				t.Errorf("the stored binding was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// What v1alpha1 has words for, it says.
func TestEveryWordOfTheFirstVersionIsSaid(t *testing.T) {
	said := workv1alpha1.ClusterResourceBinding{Spec: *filled[workv1alpha1.ResourceBindingSpec](t), Status: *filled[workv1alpha1.ResourceBindingStatus](t)}
	stored, shown := &workv1alpha2.ClusterResourceBinding{}, &workv1alpha1.ClusterResourceBinding{}
	if err := Scheme.Convert(said.DeepCopy(), stored, nil); err != nil {
		t.Fatal(err)
	}
	if err := Scheme.Convert(stored, shown, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&said, shown); diff != "" {
		t.Errorf("(-said +shown):\n%s", diff)
	}
	list := &workv1alpha1.ClusterResourceBindingList{}
	if err := Scheme.Convert(&workv1alpha2.ClusterResourceBindingList{ListMeta: metav1.ListMeta{Continue: "c"}, Items: []workv1alpha2.ClusterResourceBinding{*stored}}, list, nil); err != nil {
		t.Fatal(err)
	}
	if list.Continue != "c" || len(list.Items) != 1 || !cmp.Equal(list.Items[0], said) {
		t.Errorf("the list says %+v", list)
	}
}
