import type { z } from "zod";
import type { WorkloadList as Schema } from "#shared/protocol/schema/workload.ts";

export type WorkloadList = z.infer<typeof Schema>;
