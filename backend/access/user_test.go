package access_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/live"
)

func TestUsers(t *testing.T) {
	t.Parallel()
	f := start(t)
	admin := as(t.Context(), "admin", access.RoleAdmin)
	made, err := f.service.CreateUser(admin, " Ann ", access.RoleViewer, "")
	if err != nil || made.User.Name != "ann" || len(made.Password) < 20 || !made.User.MustChangePassword {
		t.Fatalf("made %+v, %v", made.User, err)
	}
	token, _ := f.signIn(t, "ann", made.Password)
	_, err = f.service.CreateUser(admin, "ann", access.RoleAdmin, "")
	wantKind(t, err, fault.KindConflict)
	for _, bad := range []struct {
		name     string
		role     access.Role
		password string
	}{{"", "viewer", ""}, {"-x", "viewer", ""}, {"a b", "viewer", ""}, {strings.Repeat("a", 64), "viewer", ""}, {"bob", "root", ""}, {"bob", "viewer", "short"}} {
		_, err := f.service.CreateUser(admin, bad.name, bad.role, bad.password)
		wantKind(t, err, fault.KindInvalid)
	}
	operator := access.RoleOperator
	changed, err := f.service.ChangeUser(admin, "ann", access.UserChange{Role: &operator})
	if err != nil || changed.User.Role != operator || changed.Password != "" {
		t.Errorf("changed %+v, %v", changed, err)
	}
	_, err = f.service.Authenticate(t.Context(), token)
	wantKind(t, err, fault.KindUnauthenticated) // a new role begins with a new session
	reset, err := f.service.ChangeUser(admin, "ann", access.UserChange{ResetPassword: true})
	if err != nil || reset.Password == "" {
		t.Fatalf("reset: %v", err)
	}
	_, ctx := f.signIn(t, "ann", reset.Password)
	ended := f.service.Ended(sessionID(ctx))
	if err := f.service.DeleteUser(admin, "ann"); err != nil {
		t.Fatal(err)
	}
	<-ended
	wantKind(t, f.service.DeleteUser(admin, "ann"), fault.KindNotFound)
	_, err = f.service.ChangeUser(admin, "ann", access.UserChange{})
	wantKind(t, err, fault.KindNotFound)
}

func TestUsersNeedAnAdmin(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, role := range []access.Role{access.RoleViewer, access.RoleOperator} {
		ctx := as(t.Context(), "eve", role)
		_, _, err := f.service.Users(ctx, "", 10)
		wantKind(t, err, fault.KindForbidden)
		_, err = f.service.CreateUser(ctx, "bob", access.RoleAdmin, "")
		wantKind(t, err, fault.KindForbidden)
		_, err = f.service.ChangeUser(ctx, "admin", access.UserChange{ResetPassword: true})
		wantKind(t, err, fault.KindForbidden)
		wantKind(t, f.service.DeleteUser(ctx, "admin"), fault.KindForbidden)
		if want := "delete User admin by eve: forbidden"; f.audit.last() != want {
			t.Errorf("recorded %q, want %q", f.audit.last(), want)
		}
	}
}

func TestLastAdminStays(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		service := access.NewService(access.Options{DB: db, Audit: &recorder{}, Live: live.NewHub()})
		if _, _, err := service.EnsureFirstAdmin(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx := as(t.Context(), "admin", access.RoleAdmin)
		yes, viewer := true, access.RoleViewer
		_, err := service.ChangeUser(ctx, "admin", access.UserChange{Disabled: &yes})
		wantKind(t, err, fault.KindConflict)
		_, err = service.ChangeUser(ctx, "admin", access.UserChange{Role: &viewer})
		wantKind(t, err, fault.KindConflict)
		wantKind(t, service.DeleteUser(ctx, "admin"), fault.KindConflict)
		// Eight administrators remove each other at once: one remains.
		names := []string{"admin", "b", "c", "d", "e", "f", "g", "h"}
		for _, name := range names[1:] {
			if _, err := service.CreateUser(ctx, name, access.RoleAdmin, goodPassword); err != nil {
				t.Fatal(err)
			}
		}
		var group sync.WaitGroup
		for i, name := range names {
			group.Go(func() {
				var err error
				if i%2 == 0 {
					err = service.DeleteUser(ctx, name)
				} else {
					_, err = service.ChangeUser(ctx, name, access.UserChange{Role: &viewer})
				}
				if err != nil && !fault.Is(err, fault.KindConflict) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		users, _, err := service.Users(ctx, "", 20)
		if err != nil {
			t.Fatal(err)
		}
		admins := 0
		for _, user := range users {
			if user.Role == access.RoleAdmin {
				admins++
			}
		}
		if admins != 1 {
			t.Errorf("%d administrators remain, want 1", admins)
		}
	})
}

func TestUserPages(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, name := range []string{"zoe", "bob", "ann"} {
		f.create(t, name, access.RoleViewer)
	}
	var got []string
	for after := ""; ; {
		users, total, err := f.service.Users(as(t.Context(), "admin", access.RoleAdmin), after, 2)
		if err != nil || total != 4 {
			t.Fatalf("total %d, %v", total, err)
		}
		if len(users) == 0 {
			break
		}
		for _, user := range users {
			got = append(got, user.Name)
		}
		after = users[len(users)-1].Name
	}
	if diff := cmp.Diff([]string{"admin", "ann", "bob", "zoe"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
