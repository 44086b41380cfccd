-- SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, v REAL, g INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
INSERT INTO t SELECT i, printf('key-%d', (i * 7919) % 1000003), i * 0.5, i % 1009 FROM n;
CREATE INDEX t_k ON t(k);
CREATE INDEX t_g ON t(g, v);
SELECT g, count(*), avg(v), max(k) FROM t GROUP BY g ORDER BY 3 DESC LIMIT 3;
SELECT count(*) FROM t a JOIN t b ON a.id = b.g WHERE b.k LIKE 'key-1%';
SELECT k FROM t WHERE k GLOB '*99*' ORDER BY substr(k, -3), v LIMIT 3;
UPDATE t SET v = v + 1 WHERE g % 3 = 0;
DELETE FROM t WHERE g % 5 = 0;
SELECT sum(length(k)) FROM t;
