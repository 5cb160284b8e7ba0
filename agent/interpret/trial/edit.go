package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Editor lets somebody change a file, and returns when they are done.
type Editor func(ctx context.Context, file string) error

// SystemEditor is the editor of the environment, as kubectl chooses it.
func SystemEditor(ctx context.Context, file string) error {
	editor := "vi"
	for _, variable := range []string{"EDITOR", "KUBE_EDITOR"} {
		if value := os.Getenv(variable); value != "" {
			editor = value
		}
	}
	command := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("the editor %q: %w", editor, err)
	}
	return nil
}

// edition marks the lines that Edit puts above the text and takes off again.
const edition = "#~ "

// documentation tells the functions that rules define.
const documentation = `The rules and the functions that their luaScript defines:
  retention                 function Retain(desiredObj, observedObj)          returns the object to write
  replicaResource           function GetReplicas(obj)                         returns a number, and what one replica needs
  componentResource         function GetComponents(obj)                       returns a list of components
  replicaRevision           function ReviseReplica(obj, desiredReplica)       returns the changed object
  statusReflection          function ReflectStatus(observedObj)               returns the status
  statusAggregation         function AggregateStatus(desiredObj, statusItems) returns the object with its status
  healthInterpretation      function InterpretHealth(observedObj)             returns true or false
  dependencyInterpretation  function GetDependencies(desiredObj)              returns a list of references`

// Edit lets somebody change the file of customizations, again until all scripts
// can be run or nothing was changed any more; only then it is written.
func (t *Trial) Edit(ctx context.Context, edit Editor, document bool) error {
	if len(t.Sources.Customizations) != 1 {
		return errors.New("--edit takes exactly one file")
	}
	file := t.Sources.Customizations[0]
	before, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--edit takes a file on this machine: %w", err)
	}
	scratch, err := os.MkdirTemp("", "muster-interpret-")
	if err != nil {
		return fmt.Errorf("make a place to edit: %w", err)
	}
	defer os.RemoveAll(scratch)
	draft := filepath.Join(scratch, filepath.Base(file))
	text, trouble := before, ""
	for {
		if err := os.WriteFile(draft, withNotes(text, trouble, document), 0o600); err != nil {
			return fmt.Errorf("make a place to edit: %w", err)
		}
		if err := edit(ctx, draft); err != nil {
			return err
		}
		edited, err := os.ReadFile(draft)
		if err != nil {
			return fmt.Errorf("read what was edited: %w", err)
		}
		last := text
		if text = withoutNotes(edited); bytes.Equal(text, before) || trouble != "" && bytes.Equal(text, last) {
			fmt.Fprintln(t.Out, "Edit cancelled, no changes made.")
			return nil
		}
		if trouble = t.tryText(ctx, draft, text); trouble == "" {
			break
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.WriteFile(file, text, info.Mode().Perm()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	fmt.Fprintf(t.Out, "%s edited\n", file)
	return nil
}

// tryText returns what is wrong with edited customizations, "" if nothing.
func (t *Trial) tryText(ctx context.Context, draft string, text []byte) string {
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return err.Error()
	}
	var report bytes.Buffer
	check := Trial{Interpreter: t.Interpreter, Sources: Sources{Customizations: []string{draft}}, Out: &report, Log: t.Log}
	if err := check.Check(ctx); err != nil {
		return strings.TrimSpace(report.String() + "\n" + err.Error())
	}
	return ""
}

func withNotes(text []byte, trouble string, document bool) []byte {
	notes := "Lines that begin like this one are dropped. Save without a change to give up."
	if document {
		notes += "\n\n" + documentation
	}
	if trouble != "" {
		notes += "\n\nThis cannot be saved:\n" + trouble
	}
	return append([]byte(edition+strings.ReplaceAll(notes, "\n", "\n"+edition)+"\n"), text...)
}

func withoutNotes(text []byte) []byte {
	var kept bytes.Buffer
	for _, line := range bytes.SplitAfter(text, []byte("\n")) {
		if !bytes.HasPrefix(line, []byte(strings.TrimSpace(edition))) {
			kept.Write(line)
		}
	}
	return kept.Bytes()
}
