package main

// KEDA's own Prometheus scaler (copied beside this file when it is built): a trigger's metadata comes in, what the
// scaler tells the autoscaler goes out.

import (
	"context"
	"encoding/json"
	"os"
	"time"

	v2 "k8s.io/api/autoscaling/v2"

	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
)

const externalMetricType = v2.ExternalMetricSourceType // which another file of the module's has

type answer struct {
	Value  float64 `json:"value"`
	Active bool    `json:"active"`
	Error  string  `json:"error"`
}

func main() {
	var metadata map[string]string
	if err := json.NewDecoder(os.Stdin).Decode(&metadata); err != nil {
		panic(err)
	}
	said := answer{}
	scaler, err := NewPrometheusScaler(&scalersconfig.ScalerConfig{
		TriggerMetadata:   metadata,
		AuthParams:        map[string]string{},
		ResolvedEnv:       map[string]string{},
		GlobalHTTPTimeout: 3 * time.Second,
		MetricType:        v2.AverageValueMetricType,
	})
	if err == nil {
		values, active, failed := scaler.GetMetricsAndActivity(context.Background(), "s0-prometheus")
		err, said.Active = failed, active
		if failed == nil {
			said.Value = values[0].Value.AsApproximateFloat64()
		}
	}
	if err != nil {
		said.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		panic(err)
	}
}
