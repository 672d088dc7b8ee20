CREATE TABLE job_texts_due (due_id integer PRIMARY KEY, job_id text NOT NULL);
--> statement-breakpoint
DROP TRIGGER jobs_ended_text;
--> statement-breakpoint
CREATE TRIGGER jobs_ended_text AFTER UPDATE OF status ON jobs
WHEN (new.status = 'completed' OR new.status = 'failed' OR new.status = 'cancelled')
  AND old.status <> 'completed' AND old.status <> 'failed' AND old.status <> 'cancelled' BEGIN
  INSERT INTO job_texts_due (job_id) VALUES (new.job_id);
END;
