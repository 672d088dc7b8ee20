import { Alert, Button, Skeleton, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconInbox } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { FlotillaError } from "#shared/client/errors.ts";
import { errorText } from "../lib/query.ts";
import { useOffline } from "../lib/use-offline.ts";
import { Command } from "./copy.tsx";

/** What a person can do about it. */
function adviceOf(err: unknown): string {
  if (!(err instanceof FlotillaError))
    return "Reload the page. If it happens again, the browser's console says more.";
  if (err.status === 0)
    return "Check that the server is running and that this machine can reach it. The page retries by itself.";
  if (err.status === 401) return "Reload the page and log in.";
  if (err.status === 404) return "It may have been deleted, or the address is mistyped.";
  if (err.status === 503) return "The server cannot answer now. The page retries by itself.";
  if (err.status >= 500) return "The server's log says more.";
  return "";
}

export function ErrorNote({
  error,
  title,
  retry,
}: {
  error: unknown;
  title?: string;
  retry?: () => void;
}) {
  return (
    <Alert
      color="red"
      icon={<IconAlertTriangle />}
      title={title ?? "This could not be loaded"}
      role="alert"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm" className="wrap">
          {errorText(error)}
        </Text>
        <Text size="sm">{adviceOf(error)}</Text>
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** Grey lines in the place of what is coming; for its first moment nothing, as most things are there by then. */
export function Loading({ lines = 6 }: { lines?: number }) {
  return (
    <Stack gap="sm" role="status" aria-busy="true" aria-label="Loading" className="loading">
      {Array.from({ length: lines }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines without a meaning
        <Skeleton key={i} height={i === 0 ? 36 : 20} radius="sm" />
      ))}
    </Stack>
  );
}

interface LoadableProps<T> {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
  lines?: number;
}

/**
 * Shows grey lines until there is something, what there is with a note when it could not be read again, or the error. That
 * the server is away is for the page as a whole to tell.
 */
export function Loadable<T>({ query, children, lines }: LoadableProps<T>) {
  const { data, refetch } = query;
  const error = useOffline() === null ? query.error : null;
  if (data === undefined)
    return error ? (
      <ErrorNote error={error} retry={() => void refetch()} />
    ) : (
      <Loading lines={lines} />
    );
  return (
    <>
      {error && (
        <Alert color="yellow" mb="sm" role="status">
          Shown as it was last read: {errorText(error)}. The page tries again by itself.
        </Alert>
      )}
      {children(data)}
    </>
  );
}

interface EmptyProps {
  title: string;
  children?: ReactNode;
  /** Ready to be copied into a shell. */
  command?: string;
  action?: ReactNode;
}

/** What would be here, the one button that makes it, and the same as a command. */
export function Empty({ title, children, command, action }: EmptyProps) {
  return (
    <div className="empty">
      <IconInbox size={28} stroke={1.25} aria-hidden />
      <h2 className="empty-title">{title}</h2>
      {children && <div className="empty-text">{children}</div>}
      {action}
      {command && (
        <div className="empty-command">
          <Command text={command} />
        </div>
      )}
    </div>
  );
}

/** A list that its filters leave nothing of. */
export const NothingMatches = ({ onClear }: { onClear: () => void }) => (
  <Empty
    title="Nothing matches"
    action={
      <Button variant="default" onClick={onClear}>
        Clear filters
      </Button>
    }
  />
);
