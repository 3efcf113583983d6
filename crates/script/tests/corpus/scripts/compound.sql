\set a hash(:client_id) & 255 | 7 # 1 << 2
\set b \
  greatest(1, 2.5, least(:a, 4)) \
  / sqrt(2)
BEGIN\; SELECT :a\; COMMIT;
SELECT 1 AS one, 2 AS two \aset p_
ROLLBACK
