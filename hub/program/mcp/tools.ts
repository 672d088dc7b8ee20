import { ACTION_TOOLS } from "./action-tools.ts";
import { HAND_OVER_TOOLS } from "./hand-over-tools.ts";
import { JOB_TOOLS } from "./job-tools.ts";
import { PIPELINE_TOOLS } from "./pipeline-tools.ts";
import { SESSION_TOOLS } from "./session-tools.ts";
import type { Tool } from "./tool.ts";

/** Every tool, for both transports (rules/mcp#the-tools). */
export const TOOLS: readonly Tool[] = [
  ...SESSION_TOOLS,
  ...ACTION_TOOLS,
  ...HAND_OVER_TOOLS,
  ...JOB_TOOLS,
  ...PIPELINE_TOOLS,
];
