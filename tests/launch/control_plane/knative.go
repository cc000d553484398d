package main

// Knative's own defaults and validation of a Service, as its admission webhook runs them: a Service comes in, what the
// webhook would refuse goes out.

import (
	"context"
	"encoding/json"
	"os"

	"knative.dev/pkg/apis"
	"knative.dev/serving/pkg/apis/config"
	servingv1 "knative.dev/serving/pkg/apis/serving/v1"
)

func main() {
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields() // as cmd/webhook of knative.dev/serving registers it
	service, said := &servingv1.Service{}, map[string]string{"error": ""}
	if err := decoder.Decode(service); err != nil {
		said["error"] = err.Error()
	} else {
		ctx := config.ToContext(apis.WithinCreate(context.Background()), config.FromContextOrDefaults(context.Background()))
		service.SetDefaults(ctx)
		if failed := service.Validate(ctx).Filter(apis.ErrorLevel); failed != nil { // it only warns of the rest
			said["error"] = failed.Error()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		panic(err)
	}
}
