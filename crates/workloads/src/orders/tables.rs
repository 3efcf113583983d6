//! The nine tables: their statements, and their rows as the standard loads them (TPC-C revision 5.11, clauses 1.3 and 4.3.3).
//!
//! Names of tables and columns are those of sysbench's scripts for this load, so that each can drive the tables of the other. What is counted has four bytes
//! and not two as there: the most popular items of one warehouse have 32,767 orders within an hour of a fast server.

use super::names::{self, CUSTOMERS, DISTRICTS, ITEMS, letters, uniform};
use load::sql::{self, Cell, Database, Dialect, Place};
use load::workload::Error;
use random::Random;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tables with their columns; `TINY` and `MOMENT` are the database's own types.
const TABLES: [(&str, &str); 9] = named! {
    "warehouse1": "w_id smallint NOT NULL, w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20), w_state char(2), \
         w_zip char(9), w_tax decimal(4,4), w_ytd decimal(12,2), PRIMARY KEY (w_id)",
    "district1": "d_id TINY NOT NULL, d_w_id smallint NOT NULL, d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), \
         d_state char(2), d_zip char(9), d_tax decimal(4,4), d_ytd decimal(12,2), d_next_o_id int, PRIMARY KEY (d_w_id, d_id)",
    "customer1": "c_id int NOT NULL, c_d_id TINY NOT NULL, c_w_id smallint NOT NULL, c_first varchar(16), c_middle char(2), c_last varchar(16), \
         c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9), c_phone char(16), c_since MOMENT, \
         c_credit char(2), c_credit_lim bigint, c_discount decimal(4,4), c_balance decimal(12,2), c_ytd_payment decimal(12,2), \
         c_payment_cnt int, c_delivery_cnt int, c_data text, PRIMARY KEY (c_w_id, c_d_id, c_id)",
    "history1": "h_c_id int, h_c_d_id TINY, h_c_w_id smallint, h_d_id TINY, h_w_id smallint, h_date MOMENT, h_amount decimal(6,2), h_data varchar(24)",
    "orders1": "o_id int NOT NULL, o_d_id TINY NOT NULL, o_w_id smallint NOT NULL, o_c_id int, o_entry_d MOMENT, o_carrier_id TINY, o_ol_cnt TINY, \
         o_all_local TINY, PRIMARY KEY (o_w_id, o_d_id, o_id)",
    "new_orders1": "no_o_id int NOT NULL, no_d_id TINY NOT NULL, no_w_id smallint NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    "order_line1": "ol_o_id int NOT NULL, ol_d_id TINY NOT NULL, ol_w_id smallint NOT NULL, ol_number TINY NOT NULL, ol_i_id int, ol_supply_w_id smallint, \
         ol_delivery_d MOMENT, ol_quantity TINY, ol_amount decimal(6,2), ol_dist_info char(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    "stock1": "s_i_id int NOT NULL, s_w_id smallint NOT NULL, s_quantity smallint, s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), \
         s_dist_04 char(24), s_dist_05 char(24), s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), \
         s_dist_10 char(24), s_ytd decimal(8,0), s_order_cnt int, s_remote_cnt int, s_data varchar(50), PRIMARY KEY (s_w_id, s_i_id)",
    "item1": "i_id int NOT NULL, i_im_id int, i_name varchar(24), i_price decimal(5,2), i_data varchar(50), PRIMARY KEY (i_id)",
};

/// By which customers are found by name, and a customer's last order.
const INDEXES: [&str; 2] = [
    "CREATE INDEX idx_customer1 ON customer1 (c_w_id, c_d_id, c_last, c_first)",
    "CREATE INDEX idx_orders1 ON orders1 (o_w_id, o_d_id, o_c_id, o_id)",
];

/// Bytes of a warehouse, for `plan` only: the files of two and of the items came to 385 MiB in PostgreSQL, its log included, and to 244 MiB in MariaDB.
pub const WAREHOUSE_BYTES: u64 = 160 << 20;

/// Orders of a district that were delivered when it is loaded.
const DELIVERED: i64 = 2_100;

/// Names of all.
pub fn names() -> Vec<String> {
    TABLES.iter().map(|(name, _)| (*name).to_string()).collect()
}

/// The moment that everything was loaded: one for all, so that the same seed gives the same data.
const LOADED_AT: &str = "2026-01-01 00:00:00";

/// Makes and fills them.
pub fn load(
    database: &dyn Database,
    place: &Place,
    warehouses: i64,
    seed: u64,
    interrupted: &AtomicBool,
) -> Result<(), Error> {
    database.create(place)?;
    let mut connection = database.connect(place)?;
    let mut run =
        |text: &str| connection.query(text).map(drop).map_err(sql::failed(database.name(), "make its tables"));
    for (name, columns) in TABLES {
        run(&create(name, columns, database.dialect()))?;
    }
    let filler = Filler { database, place, interrupted };
    filler.items(&mut Random::of_stream(seed, 0))?;
    for warehouse in 1..=warehouses {
        filler.warehouse(warehouse, &mut Random::of_stream(seed, warehouse as u64))?;
    }
    for index in INDEXES {
        run(index)?;
    }
    drop(connection);
    database.loaded(place, &names())
}

fn create(name: &str, columns: &str, dialect: &Dialect) -> String {
    let columns = columns.replace("TINY", dialect.tiny).replace("MOMENT", dialect.timestamp);
    format!("CREATE TABLE {name} ({columns}){}", dialect.table)
}

struct Filler<'f> {
    database: &'f dyn Database,
    place: &'f Place,
    interrupted: &'f AtomicBool,
}

fn text(value: impl Into<String>) -> Cell {
    Cell::Text(value.into())
}

fn cents(value: i64) -> Cell {
    Cell::Text(format!("{}{}.{:02}", if value < 0 { "-" } else { "" }, value.abs() / 100, value.abs() % 100))
}

/// Parts of ten thousand.
fn share(value: i64) -> Cell {
    Cell::Text(format!("0.{value:04}"))
}

/// Street, street, city, state and zip (4.3.2.7).
fn address(random: &mut Random) -> impl Iterator<Item = Cell> {
    let zip = format!("{}11111", names::digits(random, 4));
    let parts = [(10, 20), (10, 20), (10, 20), (2, 2)].map(|(least, most)| text(letters(random, least, most)));
    parts.into_iter().chain([text(zip)])
}

impl Filler<'_> {
    /// Fills a table with the rows of this range.
    fn fill(
        &self,
        table: &str,
        range: std::ops::RangeInclusive<i64>,
        row: &mut dyn FnMut(i64, &mut Vec<Cell>),
    ) -> Result<(), Error> {
        let columns = TABLES.iter().find(|(name, _)| *name == table).expect("one of ours").1;
        let columns = columns.split(", ").take_while(|column| !column.starts_with("PRIMARY KEY"));
        let names: Vec<&str> = columns.filter_map(|column| column.split(' ').next()).collect();
        let numbers = range.take_while(|_| !self.interrupted.load(Ordering::Relaxed));
        self.database.load_each(self.place, table, &names, numbers, row)?;
        Error::if_interrupted(self.interrupted)
    }

    fn items(&self, random: &mut Random) -> Result<(), Error> {
        self.fill("item1", 1..=ITEMS, &mut |item, cells| {
            cells.extend([
                Cell::Integer(item),
                Cell::Integer(uniform(random, 1, 10_000)),
                text(letters(random, 14, 24)),
                cents(uniform(random, 100, 10_000)),
                text(names::data(random)),
            ]);
        })
    }

    fn warehouse(&self, warehouse: i64, random: &mut Random) -> Result<(), Error> {
        self.fill("warehouse1", warehouse..=warehouse, &mut |id, cells| {
            cells.extend([Cell::Integer(id), text(letters(random, 6, 10))]);
            cells.extend(address(random));
            cells.extend([share(uniform(random, 0, 2_000)), cents(30_000_000)]);
        })?;
        self.fill("district1", 1..=DISTRICTS, &mut |district, cells| {
            cells.extend([Cell::Integer(district), Cell::Integer(warehouse), text(letters(random, 6, 10))]);
            cells.extend(address(random));
            cells.extend([share(uniform(random, 0, 2_000)), cents(3_000_000), Cell::Integer(CUSTOMERS + 1)]);
        })?;
        self.fill("stock1", 1..=ITEMS, &mut |item, cells| {
            cells.extend([Cell::Integer(item), Cell::Integer(warehouse), Cell::Integer(uniform(random, 10, 100))]);
            cells.extend((0..10).map(|_| text(letters(random, 24, 24))));
            cells.extend([0, 0, 0].map(Cell::Integer));
            cells.push(text(names::data(random)));
        })?;
        (1..=DISTRICTS).try_for_each(|district| self.district(warehouse, district, random))
    }

    fn district(&self, warehouse: i64, district: i64, random: &mut Random) -> Result<(), Error> {
        let place = [Cell::Integer(district), Cell::Integer(warehouse)];
        self.fill("customer1", 1..=CUSTOMERS, &mut |customer, cells| {
            cells.push(Cell::Integer(customer));
            cells.extend(place.clone());
            cells.extend([text(letters(random, 8, 16)), text("OE"), text(names::loaded_last_name(random, customer))]);
            cells.extend(address(random));
            let credit = if random.below(10) == 0 { "BC" } else { "GC" };
            cells.extend([text(names::digits(random, 16)), text(LOADED_AT), text(credit), Cell::Integer(50_000)]);
            cells.extend([share(uniform(random, 0, 5_000)), cents(-1_000), cents(1_000)]);
            cells.extend([1, 0].map(Cell::Integer));
            cells.push(text(letters(random, 300, 500)));
        })?;
        self.fill("history1", 1..=CUSTOMERS, &mut |customer, cells| {
            cells.push(Cell::Integer(customer));
            cells.extend(place.clone());
            cells.extend(place.clone());
            cells.extend([text(LOADED_AT), cents(1_000), text(letters(random, 12, 24))]);
        })?;
        // Each customer has one order, in an order of its own (4.3.3.1: a permutation).
        let mut customers: Vec<i64> = (1..=CUSTOMERS).collect();
        for index in (1..customers.len()).rev() {
            customers.swap(index, random.below(index as u64 + 1) as usize);
        }
        let counts: Vec<i64> = (0..CUSTOMERS).map(|_| uniform(random, 5, 15)).collect();
        self.fill("orders1", 1..=CUSTOMERS, &mut |order, cells| {
            let (customer, count) = (customers[order as usize - 1], counts[order as usize - 1]);
            let carrier = if order <= DELIVERED { Cell::Integer(uniform(random, 1, 10)) } else { Cell::Null };
            cells.push(Cell::Integer(order));
            cells.extend(place.clone());
            cells.extend([Cell::Integer(customer), text(LOADED_AT), carrier, Cell::Integer(count), Cell::Integer(1)]);
        })?;
        self.fill("new_orders1", DELIVERED + 1..=CUSTOMERS, &mut |order, cells| {
            cells.push(Cell::Integer(order));
            cells.extend(place.clone());
        })?;
        let lines: Vec<(i64, i64)> =
            (1..).zip(&counts).flat_map(|(order, count)| (1..=*count).map(move |line| (order, line))).collect();
        self.fill("order_line1", 0..=lines.len() as i64 - 1, &mut |index, cells| {
            let (order, line) = lines[index as usize];
            let is_delivered = order <= DELIVERED;
            cells.push(Cell::Integer(order));
            cells.extend(place.clone());
            // Items of loaded orders are uniform (4.3.3.1).
            cells.extend([line, uniform(random, 1, ITEMS), warehouse].map(Cell::Integer));
            cells.push(if is_delivered { text(LOADED_AT) } else { Cell::Null });
            let amount = if is_delivered { 0 } else { uniform(random, 1, 999_999) };
            cells.extend([Cell::Integer(5), cents(amount), text(letters(random, 24, 24))]);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_for_hours_has_four_bytes() {
        let all: Vec<&str> = TABLES.iter().flat_map(|(_, columns)| columns.split(", ")).collect();
        for counted in ["c_payment_cnt", "c_delivery_cnt", "s_order_cnt", "s_remote_cnt", "d_next_o_id"] {
            let column = all.iter().find(|column| column.trim().starts_with(counted)).expect("a column");
            assert!(column.ends_with(" int"), "{column}");
        }
    }
}
