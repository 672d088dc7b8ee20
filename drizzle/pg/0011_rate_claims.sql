CREATE TABLE "rate_claims" (
	"workload_id" bigint NOT NULL,
	"at" bigint NOT NULL,
	"used" integer NOT NULL,
	CONSTRAINT "rate_claims_workload_id_at_pk" PRIMARY KEY("workload_id","at")
);
