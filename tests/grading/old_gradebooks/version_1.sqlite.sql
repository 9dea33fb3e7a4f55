BEGIN TRANSACTION;
CREATE TABLE attempts (
	id INTEGER NOT NULL, 
	learner TEXT NOT NULL, 
	exercise TEXT NOT NULL, 
	notebook_hash TEXT NOT NULL, 
	key_hash TEXT NOT NULL, 
	submitted_at DATETIME NOT NULL, 
	last_submitted_at DATETIME NOT NULL, 
	graded_at DATETIME NOT NULL, 
	grader_version TEXT NOT NULL, 
	sandbox TEXT NOT NULL, 
	status TEXT NOT NULL, 
	points DOUBLE NOT NULL, 
	max_points DOUBLE NOT NULL, 
	messages JSON NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (learner, exercise, notebook_hash)
);
INSERT INTO "attempts" VALUES(1,'ada','double','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk','2026-10-05 12:00:00.000000','2026-10-05 12:00:00.000000','2026-10-05 13:00:00.000000','0.1.0','bubblewrap','graded',2.0,2.5,'["`halve` does not halve"]');
INSERT INTO "attempts" VALUES(2,'bob','double','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk','2026-10-04 12:00:00.000000','2026-10-04 12:00:00.000000','2026-10-04 13:00:00.000000','0.1.0','bubblewrap','graded',2.0,2.5,'["`halve` does not halve"]');
CREATE TABLE gradebook (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "gradebook" VALUES(1);
CREATE TABLE manual_points (
	id INTEGER NOT NULL, 
	learner TEXT NOT NULL, 
	exercise TEXT NOT NULL, 
	points DOUBLE NOT NULL, 
	why TEXT NOT NULL, 
	given_at DATETIME NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "manual_points" VALUES(1,'ada','double',1.5,'oral','2026-10-05 12:00:00.000000');
CREATE TABLE results (
	attempt_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	status TEXT NOT NULL, 
	points DOUBLE NOT NULL, 
	max_points DOUBLE NOT NULL, 
	title TEXT NOT NULL, 
	message TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	PRIMARY KEY (attempt_id, position), 
	FOREIGN KEY(attempt_id) REFERENCES attempts (id) ON DELETE CASCADE
);
INSERT INTO "results" VALUES(1,0,'check_double','check','failed',0.0,0.0,'','twice one is two','');
INSERT INTO "results" VALUES(1,1,'test_double','test','passed',2.0,2.0,'Doubling works.','','');
INSERT INTO "results" VALUES(1,2,'test_halve','test','failed',0.0,0.5,'Halving works.','`halve` does not halve','assert 41.5');
INSERT INTO "results" VALUES(2,0,'check_double','check','failed',0.0,0.0,'','twice one is two','');
INSERT INTO "results" VALUES(2,1,'test_double','test','passed',2.0,2.0,'Doubling works.','','');
INSERT INTO "results" VALUES(2,2,'test_halve','test','failed',0.0,0.5,'Halving works.','`halve` does not halve','assert 41.5');
CREATE TABLE told_times (
	learner TEXT NOT NULL, 
	exercise TEXT NOT NULL, 
	notebook_hash TEXT NOT NULL, 
	submitted_at DATETIME NOT NULL, 
	PRIMARY KEY (learner, exercise, notebook_hash)
);
INSERT INTO "told_times" VALUES('bob','double','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','2026-10-05 12:00:00.000000');
CREATE INDEX ix_manual_points_learner ON manual_points (learner);
COMMIT;
