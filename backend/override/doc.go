// Package override changes objects on their way to a cluster, as the override
// policies say (contract section 10). It is pure: the controller that makes
// Works, the preview and the comparison of clusters all call the same code.
//
//   - ClusterOverridePolicies come first, then the OverridePolicies of the
//     object's namespace; within each kind the closer and later named one wins.
//   - Within a rule: image, command, args, labels, annotations, field, plaintext.
//   - The object handed in is never changed, nor are the policies.
//   - Every path that is changed names the policy, rule and overrider that
//     changed it.
//   - The first overrider that cannot be applied ends it: a cluster gets the
//     object with all its changes, or does not get it.
package override
