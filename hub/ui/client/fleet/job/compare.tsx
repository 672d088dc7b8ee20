import { Button, Menu } from "@mantine/core";
import { IconGitCompare } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import { differenceHref } from "../../lib/links.ts";
import { useGet } from "../../lib/query.ts";
import { Ago } from "../../parts/text.tsx";
import { JobState } from "./state.tsx";

const MOST = 8;

/** Another capture of the same address to compare this one with; of a watch the one it was compared with first. */
export function Compare({ job }: { job: Job }) {
  const [opened, setOpened] = useState(false);
  return (
    <Menu opened={opened} onChange={setOpened} position="bottom-end" withinPortal>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          data-quiet
          title="Compare"
          leftSection={<IconGitCompare size={16} />}
        >
          Compare
        </Button>
      </Menu.Target>
      <Menu.Dropdown>{opened && <Others job={job} />}</Menu.Dropdown>
    </Menu>
  );
}

function Others({ job }: { job: Job }) {
  const { data, error } = useGet("/jobs", { query: { url: job.url, limit: 50 } });
  const others = (data?.jobs ?? [])
    .filter((one) => one.job_id !== job.job_id && one.finished_at !== null)
    .slice(0, MOST);
  if (error) return <Menu.Label>The other captures could not be read.</Menu.Label>;
  if (!data) return <Menu.Label>Looking for other captures …</Menu.Label>;
  if (others.length === 0)
    return <Menu.Label>There is no other capture of this address yet.</Menu.Label>;
  return (
    <>
      <Menu.Label>With the capture of</Menu.Label>
      {others.map((one) => {
        const [from, to] = one.created_at < job.created_at ? [one, job] : [job, one];
        return (
          <Menu.Item
            key={one.job_id}
            component={Link}
            href={differenceHref(from.job_id, to.job_id)}
            rightSection={<JobState job={one} />}
          >
            <Ago at={one.created_at} />
          </Menu.Item>
        );
      })}
    </>
  );
}
