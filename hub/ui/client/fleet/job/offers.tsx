import { Button } from "@mantine/core";
import { IconBulb } from "@tabler/icons-react";
import { counted } from "#shared/kit/words.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { call } from "../../lib/http.ts";
import { useChange, useGet } from "../../lib/query.ts";
import { OFFERED, takeSkill } from "../registry/offered.ts";

/** What later jobs can use of a successful script, once a person accepts it. */
export function Offers({ job }: { job: Job }) {
  const host = URL.canParse(job.url) ? new URL(job.url).hostname : "";
  const wanted = job.mode === "codegen-loop" && host !== "" && job.status === "completed";
  const skills = useGet("/skills", { query: { tag: OFFERED } }, { enabled: wanted });
  const hosts = useGet("/hosts/{host}", { params: { host } }, { enabled: wanted, retry: false });
  const take = useChange(takeSkill, {
    done: "The skill is offered to every script for its host",
    failed: "The skill was not saved",
  });
  const enable = useChange(
    async (pattern: string) => {
      // Read it again: others may have changed it in the meantime.
      const now = await call("GET /hosts/{host}", { params: { host } });
      const { cookies: _kept, ...rest } = now;
      const recipes = now.recipes.map((recipe) =>
        recipe.created_from_job === job.job_id && recipe.pattern === pattern
          ? { ...recipe, enabled: true }
          : recipe,
      );
      return call("PUT /hosts/{host}", { params: { host }, json: { ...rest, recipes } });
    },
    { done: "Jobs on this host use the recipe from now on", failed: "The recipe was not saved" },
  );
  if (!wanted) return null;
  const skill = skills.data?.skills.find((one) => one.created_from_job === job.job_id);
  const recipe = hosts.data?.recipes.find(
    (one) => one.created_from_job === job.job_id && one.enabled === false,
  );
  if (!skill && !recipe) return null;
  return (
    <section className="capture-offers" aria-label="Worth keeping for later jobs">
      <IconBulb size={16} stroke={2} aria-hidden />
      <b>Worth keeping for later jobs</b>
      {skill && (
        <span className="capture-offer">
          <span>
            The script as skill {skill.slug}, shown to the engine for {skill.host_pattern}
          </span>
          <Button
            size="xs"
            variant="default"
            loading={take.isPending}
            onClick={() => take.mutate(skill)}
          >
            Save the skill
          </Button>
        </span>
      )}
      {recipe && (
        <span className="capture-offer">
          <span>
            Its {counted(recipe.actions.length, "step")} as a recipe of {host} for {recipe.pattern}
          </span>
          <Button
            size="xs"
            variant="default"
            loading={enable.isPending}
            onClick={() => enable.mutate(recipe.pattern)}
          >
            Save the recipe
          </Button>
        </span>
      )}
    </section>
  );
}
