import { eq, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { DocumentsRepo } from "./fleet-types.ts";

export function documentsRepo({
  q,
  t: { documents, jobs },
  atomic,
  lockRows,
}: Conn): DocumentsRepo {
  return {
    put: async (job_id, name, size) => {
      const of_job = eq(jobs.job_id, job_id);
      const values = [sql.param(job_id), sql.param(name), sql.param(size, documents.size)];
      const all = q
        .select({ bytes: sql`coalesce(sum(${documents.size}), 0)` })
        .from(documents)
        .where(eq(documents.job_id, job_id));
      const [held] = await atomic([
        // Puts of one job wait here for each other, so the sum below has every document that the others noted.
        lockRows(q.select({ job_id: jobs.job_id }).from(jobs).where(of_job)),
        q
          .insert(documents)
          .select(sql`select ${sql.join(values, sql`, `)} from ${jobs} where ${of_job}`)
          .onConflictDoUpdate({
            target: [documents.job_id, documents.name],
            set: { size: sql`excluded.size` },
          }),
        q
          .update(jobs)
          .set({ document_bytes: sql`(${all})` })
          .where(of_job),
      ]);
      return held !== undefined && held.length > 0;
    },
  };
}
