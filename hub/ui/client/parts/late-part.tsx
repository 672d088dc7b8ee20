import { Alert, Button, Stack, Text } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { type Late, type LateFile, useLateFile } from "../lib/late-file.ts";
import { Loading } from "./states.tsx";

/** In place of a part of the app whose file has not come. */
export function LateNote({ state }: { state: Exclude<Late<unknown>["state"], "there"> }) {
  if (state === "coming") return <Loading />;
  if (state === "away")
    return (
      <>
        <Text size="sm" c="dimmed" mb="sm">
          This part of the page comes as soon as the server answers.
        </Text>
        <Loading />
      </>
    );
  return (
    <Alert
      color="yellow"
      role="alert"
      icon={<IconRefresh />}
      title="This part of the page could not be loaded"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          The server no longer has its file, most likely because Flotilla was updated. What you have
          typed into this page is lost when you reload it.
        </Text>
        <Button size="xs" variant="default" onClick={() => location.reload()}>
          Reload
        </Button>
      </Stack>
    </Alert>
  );
}

interface LatePartProps<T> {
  file: LateFile<T>;
  children: (value: T) => ReactNode;
  /** Shown in its place until it comes; by default grey lines. */
  coming?: ReactNode;
}

/**
 * A part of a page with a file of its own, fetched when it is first shown. What is around it stays, whatever becomes of the
 * file.
 */
export function LatePart<T>({ file, children, coming }: LatePartProps<T>): ReactNode {
  const late = useLateFile(file);
  if (late.state === "there") return children(late.value);
  if (late.state === "coming" && coming !== undefined) return coming;
  return <LateNote state={late.state} />;
}
