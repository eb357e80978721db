// The HTTP schema, version 1: the one source for server, command line, web page and documents.
//
// Every resource declares its fields once (name, value, what it means); JSON codec, OpenAPI text
// and TypeScript types are made from these declarations (api/json.h, api/openapi.h).
// On the wire: times are ISO-8601 UTC strings, durations are seconds (decimal), GPUs are decimals
// (0.5 is half a device), memory is bytes. What is unknown or does not apply is left out: optional
// values, and text marked kMayLack or kTime, which is empty here then.
#pragma once

#include "api/v1/cluster.h"
#include "api/v1/event.h"
#include "api/v1/job.h"
#include "api/v1/place.h"
#include "api/v1/problem.h"
#include "api/v1/queue.h"
#include "api/v1/server.h"
#include "api/v1/submit.h"
#include "api/v1/verdict.h"
