CREATE TABLE `job_labels` (
	`job_id` text NOT NULL,
	`key` text NOT NULL,
	`value` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`job_id`, `key`),
	FOREIGN KEY (`job_id`) REFERENCES `jobs`(`job_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `job_labels_value_idx` ON `job_labels` (`key`,`value`,`created_at`,`job_id`);--> statement-breakpoint
CREATE INDEX `job_labels_key_idx` ON `job_labels` (`key`,`created_at`,`job_id`);--> statement-breakpoint
CREATE TABLE `job_texts` (
	`text_id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`job_id` text NOT NULL,
	`words` text NOT NULL,
	FOREIGN KEY (`job_id`) REFERENCES `jobs`(`job_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `job_texts_job_idx` ON `job_texts` (`job_id`);--> statement-breakpoint
CREATE TABLE `saved_lists` (
	`page` text NOT NULL,
	`name` text NOT NULL,
	`filters` text NOT NULL,
	`saved_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`page`, `name`)
);
--> statement-breakpoint
CREATE TABLE `task_labels` (
	`task_id` integer NOT NULL,
	`key` text NOT NULL,
	`value` text NOT NULL,
	PRIMARY KEY(`task_id`, `key`)
);
--> statement-breakpoint
CREATE INDEX `task_labels_value_idx` ON `task_labels` (`key`,`value`,`task_id`);--> statement-breakpoint
ALTER TABLE `jobs` ADD `labels` text;--> statement-breakpoint
CREATE INDEX `runs_failed_pk_idx` ON `runs` (`pk`) WHERE outcome <> 0;--> statement-breakpoint
CREATE VIRTUAL TABLE job_texts_index USING fts5(words, content='job_texts', content_rowid='text_id', prefix='2 3', tokenize="unicode61 remove_diacritics 2");
--> statement-breakpoint
CREATE TRIGGER job_texts_added AFTER INSERT ON job_texts BEGIN
  INSERT INTO job_texts_index (rowid, words) VALUES (new.text_id, new.words);
END;
--> statement-breakpoint
CREATE TRIGGER job_texts_removed AFTER DELETE ON job_texts BEGIN
  INSERT INTO job_texts_index (job_texts_index, rowid, words) VALUES ('delete', old.text_id, old.words);
END;
--> statement-breakpoint
CREATE TRIGGER job_texts_changed AFTER UPDATE ON job_texts BEGIN
  INSERT INTO job_texts_index (job_texts_index, rowid, words) VALUES ('delete', old.text_id, old.words);
  INSERT INTO job_texts_index (rowid, words) VALUES (new.text_id, new.words);
END;
--> statement-breakpoint
CREATE VIEW job_words AS SELECT job_id, substr(url, 1, 2000)
  || ' ' || CASE WHEN final_url IS NULL OR final_url = url THEN '' ELSE substr(final_url, 1, 2000) END
  || ' ' || coalesce(substr(title, 1, 1000), '') || ' ' || coalesce(substr(error, 1, 2000), '')
  || ' ' || coalesce(labels, '') || ' ' || coalesce(substr(answer, 1, 2000), '') AS words
FROM jobs;
--> statement-breakpoint
INSERT INTO job_texts (job_id, words) SELECT w.job_id, w.words FROM jobs j JOIN job_words w ON w.job_id = j.job_id
WHERE j.status IN ('completed', 'failed', 'cancelled') ORDER BY j.created_at, j.job_id;
--> statement-breakpoint
CREATE TRIGGER jobs_ended_text AFTER UPDATE OF status ON jobs
WHEN new.status IN ('completed', 'failed', 'cancelled') AND old.status NOT IN ('completed', 'failed', 'cancelled') BEGIN
  INSERT INTO job_texts (job_id, words) SELECT job_id, words FROM job_words WHERE job_id = new.job_id
  ON CONFLICT (job_id) DO UPDATE SET words = excluded.words;
END;
--> statement-breakpoint
CREATE TRIGGER jobs_labelled_text AFTER UPDATE OF labels ON jobs
WHEN new.status IN ('completed', 'failed', 'cancelled') AND new.labels IS NOT old.labels BEGIN
  UPDATE job_texts SET words = (SELECT words FROM job_words WHERE job_id = new.job_id) WHERE job_id = new.job_id;
END;
