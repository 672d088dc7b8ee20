import { Anchor, Badge, Group } from "@mantine/core";
import { Link } from "wouter";
import type { Skill } from "#shared/protocol/schema/skill.ts";
import { jobHref } from "../../lib/links.ts";

/** Who created a skill; one created by AI links to the job it came from. */
export function CreatedBy({ skill }: { skill: Skill }) {
  const { created_by, created_from_job } = skill;
  return (
    <Group gap={6} wrap="nowrap">
      <Badge
        variant="light"
        color={created_by === "ai" ? "grape" : "gray"}
        className="status"
        autoContrast
      >
        {created_by === "ai" ? "AI" : "operator"}
      </Badge>
      {created_from_job && (
        <Anchor component={Link} href={jobHref(created_from_job)} size="sm" truncate>
          its job
        </Anchor>
      )}
    </Group>
  );
}
