// Package pods looks into members: which pods an object has there, and why they
// are not ready.
//
//   - Nothing is kept of it: a member is asked when somebody looks, through the
//     client that the hub has of it, and the answer is shared for a few seconds.
//   - It costs a member little: a deadline, a bounded number of pods, and never
//     more than a few questions at once.
//   - It asks with the hub's own access, for whoever may view: nobody needs rights
//     in the member for it.
//   - Only objects that the hub manages in the member are looked at, and of their
//     pods only what is about how they are: no environment, no logs. What a
//     container left as its last words may be a log, and is not shown either.
//   - A member that cannot be asked is an answer too, which says what to do.
package pods
