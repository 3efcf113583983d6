//! What must hold of the tables whatever was ordered, paid and delivered (TPC-C revision 5.11, clauses 3.3.2.1 to 3.3.2.12).

use load::sql::{self, Database, Place, same};
use load::workload::Error;

/// A condition's clause, and the statement that counts where it does not hold. Sums are compared by half a cent, as SQLite adds in floating point.
///
/// The eleventh counts deliveries, too: as the standard has it, it holds of freshly loaded tables only.
pub const CONDITIONS: [(&str, &str); 13] = named! {
    "3.3.2.1: w_ytd is the sum of its districts'":
        "SELECT count(*) FROM warehouse1 WHERE abs(w_ytd - (SELECT sum(d_ytd) FROM district1 WHERE d_w_id = w_id)) > 0.005",
    "3.3.2.2: d_next_o_id follows the last order and the last new order":
        "SELECT count(*) FROM district1 WHERE d_next_o_id - 1 <> (SELECT max(o_id) FROM orders1 WHERE o_w_id = d_w_id AND o_d_id = d_id) \
         OR d_next_o_id - 1 <> (SELECT max(no_o_id) FROM new_orders1 WHERE no_w_id = d_w_id AND no_d_id = d_id)",
    "3.3.2.3: new orders of a district have no gap":
        "SELECT count(*) FROM (SELECT no_w_id FROM new_orders1 GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) AS gaps",
    "3.3.2.4: a district has as many lines as its orders say":
        "SELECT count(*) FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS said FROM orders1 GROUP BY o_w_id, o_d_id) AS o \
         JOIN (SELECT ol_w_id, ol_d_id, count(*) AS found FROM order_line1 GROUP BY ol_w_id, ol_d_id) AS l \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE said <> found",
    "3.3.2.5: an order without carrier is a new one":
        "SELECT count(*) FROM orders1 LEFT JOIN new_orders1 ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)",
    "3.3.2.5: a new order is an order":
        "SELECT count(*) FROM new_orders1 LEFT JOIN orders1 ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id WHERE o_id IS NULL",
    "3.3.2.6: an order has as many lines as it says":
        "SELECT count(*) FROM orders1 LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS found FROM order_line1 \
         GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_ol_cnt <> coalesce(found, 0)",
    "3.3.2.7: a line is delivered when its order has a carrier":
        "SELECT count(*) FROM order_line1 JOIN orders1 ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)",
    "3.3.2.8: w_ytd is what its history says":
        "SELECT count(*) FROM warehouse1 WHERE abs(w_ytd - (SELECT sum(h_amount) FROM history1 WHERE h_w_id = w_id)) > 0.005",
    "3.3.2.9: d_ytd is what its history says":
        "SELECT count(*) FROM district1 JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history1 GROUP BY h_w_id, h_d_id) AS h \
         ON h_w_id = d_w_id AND h_d_id = d_id WHERE abs(d_ytd - paid) > 0.005",
    "3.3.2.10: c_balance is what was delivered less what was paid":
        "SELECT count(*) FROM customer1 LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered FROM orders1 JOIN order_line1 \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS o \
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history1 GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h \
         ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
         WHERE abs(c_balance - coalesce(delivered, 0) + coalesce(paid, 0)) > 0.005",
    "3.3.2.11: orders less new orders are 2,100 and what was delivered since":
        "SELECT count(*) FROM (SELECT o_w_id, o_d_id, count(*) AS ordered FROM orders1 GROUP BY o_w_id, o_d_id) AS o \
         JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS delivered FROM customer1 GROUP BY c_w_id, c_d_id) AS c ON c_w_id = o_w_id AND c_d_id = o_d_id \
         LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS open FROM new_orders1 GROUP BY no_w_id, no_d_id) AS n ON no_w_id = o_w_id AND no_d_id = o_d_id \
         WHERE ordered - coalesce(open, 0) <> 2100 + delivered",
    "3.3.2.12: c_balance and c_ytd_payment are what was delivered":
        "SELECT count(*) FROM customer1 LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered FROM orders1 JOIN order_line1 \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS o \
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         WHERE abs(c_balance + c_ytd_payment - coalesce(delivered, 0)) > 0.005",
};

/// Asks them all.
///
/// # Errors
/// When one does not hold.
pub fn hold(database: &dyn Database, place: &Place) -> Result<(), Error> {
    let mut connection = database.connect(place)?;
    for (clause, statement) in CONDITIONS {
        let answer = connection.query(statement).map_err(sql::failed(database.name(), "check its conditions"))?;
        same(&format!("places where a condition fails ({clause})"), "0", answer.first().unwrap_or("no answer"))?;
    }
    Ok(())
}
