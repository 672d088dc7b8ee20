import type { z } from "zod";
import type { WorkloadList as Schema } from "#shared/schema/workload.ts";

export type WorkloadList = z.infer<typeof Schema>;
