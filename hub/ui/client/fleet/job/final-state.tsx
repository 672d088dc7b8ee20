import { Anchor, Paper, Text, Title } from "@mantine/core";
import type { Job } from "#shared/protocol/schema/job.ts";
import { LongText } from "./long-text.tsx";
import { SmallPicture } from "./pictures.tsx";

/** The page as it was at the end of the job. */
export function FinalPage({ job }: { job: Job }) {
  const { thumbnail_href, screenshot_href } = job;
  return (
    <Paper withBorder p="md" className="job-final">
      <Title order={2} size="h4" mb="sm">
        The page at the end
      </Title>
      <SmallPicture
        className="job-final-picture"
        src={thumbnail_href}
        alt="What the window showed at the end of the job"
      />
      <Text size="sm" c="dimmed" mt="xs">
        {screenshot_href ? (
          <Anchor href={screenshot_href} target="_blank" rel="noreferrer" size="sm">
            Open the whole page
          </Anchor>
        ) : (
          "There is no picture of the whole page."
        )}
      </Text>
    </Paper>
  );
}

/** What the job's script answered. */
export function Answer({ answer }: { answer: unknown }) {
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h4" mb="sm">
        Answer
      </Title>
      <LongText
        text={typeof answer === "string" ? answer : JSON.stringify(answer, null, 2)}
        none="It is empty."
      />
    </Paper>
  );
}
