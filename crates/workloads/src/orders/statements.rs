//! The statements of the five transactions. What each reads and writes is the standard's (TPC-C revision 5.11, clauses 2.4 to 2.8).

use super::names::DISTRICTS;
use load::sql::Dialect;
use load::sql_load::Class;

/// Statements with their class and their text, a row each; they are numbered in that order.
macro_rules! statements {
    ($($(#[$about:meta])* $class:ident $name:ident: $text:literal,)*) => {
        /// A statement.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Sql { $($(#[$about])* $name),* }

        const TEXTS: &[&str] = &[$($text),*];

        const CLASSES: &[Class] = &[$(Class::$class),*];
    };
}

// `{lock}` stands for the dialect's lock of a row, `{district}` for a district's two digits.
statements! {
    Other Begin: "BEGIN",
    Other Commit: "COMMIT",
    Other Rollback: "ROLLBACK",
    // New order.
    Read WarehouseAndCustomer:
        "SELECT w_tax, c_discount, c_last, c_credit FROM warehouse1, customer1 WHERE w_id = $1 AND c_w_id = w_id \
         AND c_d_id = $2 AND c_id = $3",
    Read District: "SELECT d_next_o_id, d_tax FROM district1 WHERE d_w_id = $1 AND d_id = $2{lock}",
    Write NextOrder: "UPDATE district1 SET d_next_o_id = $1 WHERE d_w_id = $2 AND d_id = $3",
    Write InsertOrder:
        "INSERT INTO orders1 (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP, $5, $6)",
    Write InsertNewOrder: "INSERT INTO new_orders1 (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)",
    Read Item: "SELECT i_price, i_name, i_data FROM item1 WHERE i_id = $1",
    /// It has a text for each district, whose column the line copies.
    Read Stock: "SELECT s_quantity, s_dist_{district}, s_data FROM stock1 WHERE s_w_id = $1 AND s_i_id = $2{lock}",
    Write UpdateStock:
        "UPDATE stock1 SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, \
         s_remote_cnt = s_remote_cnt + $3 WHERE s_w_id = $4 AND s_i_id = $5",
    Write InsertLine:
        "INSERT INTO order_line1 (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, \
         ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    // Payment.
    Write PayWarehouse: "UPDATE warehouse1 SET w_ytd = w_ytd + $1 WHERE w_id = $2",
    Read WarehouseAddress:
        "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse1 WHERE w_id = $1",
    Write PayDistrict: "UPDATE district1 SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3",
    Read DistrictAddress:
        "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district1 WHERE d_w_id = $1 AND d_id = $2",
    Read CustomersByName:
        "SELECT c_id FROM customer1 WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
    Read CustomerToPay:
        "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, \
         c_discount, c_balance FROM customer1 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3{lock}",
    Read CustomerData: "SELECT c_data FROM customer1 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    Write PayCustomer:
        "UPDATE customer1 SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
         c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5",
    Write PayCustomerWithData:
        "UPDATE customer1 SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
         c_payment_cnt = c_payment_cnt + 1, c_data = $3 WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6",
    Write InsertHistory:
        "INSERT INTO history1 (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
         VALUES ($1, $2, $3, $4, $5, CURRENT_TIMESTAMP, $6, $7)",
    // Order status.
    Read CustomerBalance:
        "SELECT c_balance, c_first, c_middle, c_last FROM customer1 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    Read LastOrder:
        "SELECT o_id, o_carrier_id, o_entry_d, o_ol_cnt FROM orders1 WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 \
         ORDER BY o_id DESC LIMIT 1",
    Read OrderLines:
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line1 \
         WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
    // Delivery.
    Read OldestNewOrder:
        "SELECT no_o_id FROM new_orders1 WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1{lock}",
    Write DeleteNewOrder: "DELETE FROM new_orders1 WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3",
    Read CustomerOfOrder: "SELECT o_c_id FROM orders1 WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3",
    Write CarryOrder: "UPDATE orders1 SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4",
    Write DeliverLines:
        "UPDATE order_line1 SET ol_delivery_d = CURRENT_TIMESTAMP WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
    Read SumOfLines: "SELECT sum(ol_amount) FROM order_line1 WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
    Write DeliverToCustomer:
        "UPDATE customer1 SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 \
         WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4",
    // Stock level.
    Read NextOrderOfDistrict: "SELECT d_next_o_id FROM district1 WHERE d_w_id = $1 AND d_id = $2",
    Read LowStock:
        "SELECT count(DISTINCT s_i_id) FROM order_line1, stock1 WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id < $3 \
         AND ol_o_id >= $4 AND s_w_id = $5 AND s_i_id = ol_i_id AND s_quantity < $6",
}

/// Texts of all, parameters as `$1`; behind them, that of the stock for each district.
pub fn texts(begin: &str, dialect: &Dialect) -> Vec<String> {
    let spelled = |text: &str, district: i64| {
        text.replace("{lock}", dialect.for_update).replace("{district}", &format!("{district:02}"))
    };
    let of_districts = (1..=DISTRICTS).map(|district| spelled(TEXTS[Sql::Stock as usize], district));
    let mut texts: Vec<String> = TEXTS.iter().map(|text| spelled(text, 1)).chain(of_districts).collect();
    texts[Sql::Begin as usize] = begin.into();
    texts
}

/// Which of the texts a statement has in a transaction of this district.
pub fn number(sql: Sql, district: i64) -> usize {
    if sql == Sql::Stock { TEXTS.len() + district as usize - 1 } else { sql as usize }
}

impl Sql {
    pub fn class(self) -> Class {
        CLASSES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::sql::COMMON;

    #[test]
    fn parameters_are_numbered_in_order_and_each_once() {
        for text in texts("BEGIN", &COMMON) {
            let numbers: Vec<usize> = text
                .split('$')
                .skip(1)
                .map(|part| {
                    part.chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect("a number")
                })
                .collect();
            assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>(), "{text}");
        }
        assert!(texts("BEGIN", &COMMON)[number(Sql::Stock, 10)].contains("s_dist_10"));
    }
}
