package main

import (
	"github.com/spf13/pflag"

	"muster.dev/muster/backend/estimator"
)

// addEstimator adds the flags of the scheduler estimators, under the names of the
// field's scheduler. --scheduler-estimator-address is our own: a hub outside of a
// cluster has no cluster DNS to look them up in.
func addEstimator(flags *pflag.FlagSet, o *estimator.Options) {
	flags.BoolVar(&o.Enabled, "enable-scheduler-estimator", false, "ask the scheduler estimators of members how many replicas they can run (docs/scheduling.md)")
	flags.BoolVar(&o.NotPull, "disable-scheduler-estimator-in-pull-mode", false, "leave out the members of mode Pull")
	flags.DurationVar(&o.Timeout, "scheduler-estimator-timeout", estimator.DefaultTimeout, "how long a decision waits for estimators at most")
	flags.StringVar(&o.Prefix, "scheduler-estimator-service-prefix", estimator.DefaultPrefix, "the Service of an estimator is PREFIX-CLUSTER")
	flags.StringVar(&o.Namespace, "scheduler-estimator-service-namespace", estimator.DefaultNamespace, "namespace of these Services")
	flags.IntVar(&o.Port, "scheduler-estimator-port", estimator.DefaultPort, "port of these Services")
	flags.StringVar(&o.Address, "scheduler-estimator-address", "", "HOST:PORT of estimators without a Service on the hub, {cluster} stands for the cluster's name (default: the Service's name in the cluster's DNS)")
	flags.StringVar(&o.CAFile, "scheduler-estimator-ca-file", "", "PEM CA of the estimators' certificates (default: connections are not encrypted)")
	flags.StringVar(&o.CertFile, "scheduler-estimator-cert-file", "", "PEM certificate to show to estimators")
	flags.StringVar(&o.KeyFile, "scheduler-estimator-key-file", "", "PEM key of --scheduler-estimator-cert-file")
	flags.BoolVar(&o.Insecure, "insecure-skip-estimator-verify", false, "encrypt connections to estimators without looking at their certificates")
}
