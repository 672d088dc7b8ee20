import { Alert, Text } from "@mantine/core";
import { FlotillaError, type Issue } from "#shared/client/errors.ts";
import { issueText } from "#shared/kit/issue-text.ts";
import { errorText } from "../lib/query.ts";

const issuesOf = (error: unknown): readonly Issue[] =>
  error instanceof FlotillaError ? error.issues : [];

/** Where in the body or path it is: `["endpoint"]`. */
const placeOf = ({ loc }: Issue) => loc.slice(1);

/** The API's error for one field, for its `error`; `path` as in the body: `("llm_engines", 0, "url")`. */
export function issueAt(error: unknown, ...path: (string | number)[]): string | undefined {
  const found = issuesOf(error).filter((issue) =>
    path.every((part, i) => String(placeOf(issue)[i]) === String(part)),
  );
  return found.length === 0 ? undefined : found.map(({ msg }) => msg).join("; ");
}

interface FormErrorsProps {
  error: unknown;
  title: string;
  /** Fields that show their own errors. */
  fields?: readonly string[];
}

/** What the API said and no field shows. */
export function FormErrors({ error, title, fields = [] }: FormErrorsProps) {
  if (!error) return null;
  const issues = issuesOf(error);
  const rest = issues.filter((issue) => !fields.includes(String(placeOf(issue)[0])));
  if (issues.length > 0 && rest.length === 0) return null;
  const texts =
    issues.length === 0
      ? [errorText(error)]
      : rest.map((issue) => issueText(placeOf(issue), issue.msg));
  return (
    <Alert color="red" title={title} role="alert">
      {texts.map((text) => (
        <Text key={text} size="sm" className="wrap">
          {text}
        </Text>
      ))}
    </Alert>
  );
}
