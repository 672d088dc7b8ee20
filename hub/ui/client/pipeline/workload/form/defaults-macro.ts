import { WorkloadCreate } from "#shared/protocol/schema/workload.ts";

/**
 * What the API fills in itself for a new workload, by its schema. Runs when the app is bundled, so that no browser gets
 * the library that reads the schema.
 */
export function workloadDefaults() {
  const { slug, name, executor_type, executor_config, ...defaults } = WorkloadCreate.parse({
    slug: "any",
    executor_type: "fleet_fetch",
  });
  return defaults;
}
